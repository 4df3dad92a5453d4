"""PTX of kvtrace's GPU kernels: `finite` searches for NaNs and infinities, `digest` sums up memory.

A launch takes a table of tensors as its parameter and assigns a row of blocks to each tensor; its
last block writes the answer into pinned memory, so nothing is copied and no thread waits. The
kernels are PTX and not Triton, since Triton kernels would pass our own hooks, and cost a
compilation of seconds at the first launch; the driver compiles this text in milliseconds, on any
GPU since sm_70.

Memory is read in vectors of 16 aligned bytes. A tensor's first and last vector may reach beyond the
tensor (but not into another page); the bytes there count as zeros.
"""

from dataclasses import dataclass
from typing import Final

#: Threads per block, and vectors that a thread reads at a time.
THREADS: Final = 256
UNROLLED: Final = 4
VECTOR: Final = 16

#: Most spans of a launch, and most spans with flags in a launch of `finite`.
SPANS: Final = 16
CHECKED: Final = 8

#: Bytes of the parameter's head and of a span's row, and their formats.
HEAD: Final = 64
ROW: Final = 64
HEAD_FORMAT: Final = "<QQQQQIIIIII"
ROW_FORMAT: Final = "<QIIIIQQQQ8x"

#: Two bits per span in the answer of `finite`; bits for memory stored in the reserves.
NAN: Final = 1
INFINITE: Final = 2
KEPT: Final = (1 << 16, 1 << 17)

#: Most launches whose inputs a single block checks for NaNs of their own, which takes time.
ATTEMPTS: Final = 256

#: Words are mixed by a bijection, so that a single changed word is never missed: MurmurHash3's
#: finaliser, with shifts by half a word. With one shift less, the sums' changes for two flipped
#: signs would be equal in one of four cases.
PLACES: Final = (0x9E3779B1, 0x85EBCA77)
FACTORS: Final = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)

#: Bytes of a line, the unit that sampled digests skip.
LINE: Final = 128


@dataclass(frozen=True, slots=True)
class Format:
    """Bit patterns of a float type, repeated through 64 bits.

    `mask` removes the sign. Adding `nan` to the rest sets the sign bit for NaNs only, and adding
    `limit` for infinities too; neither sum can carry into the neighboring float.
    """

    bytes: int
    mask: int
    nan: int
    limit: int


def _float_format(bits: int, infinity: int, least_nan: int) -> Format:
    sign = 1 << (bits - 1)
    repeated = sum(1 << bit_offset for bit_offset in range(0, 64, bits))
    constants = (sign - 1, sign - least_nan, sign - infinity)
    return Format(bits // 8, *(number * repeated for number in constants))


#: The floats that are checked, by Triton's short names.
FORMATS: Final = {
    "fp64": _float_format(64, 0x7FF << 52, (0x7FF << 52) + 1),
    "fp32": _float_format(32, 0x7F800000, 0x7F800001),
    "fp16": _float_format(16, 0x7C00, 0x7C01),
    "bf16": _float_format(16, 0x7F80, 0x7F81),
    "fp8e5": _float_format(8, 0x7C, 0x7D),
    "fp8e4nv": _float_format(8, 0x7F, 0x7F),  # has no infinity
}

_OPENING: Final = f"""(.param .align 8 .b8 check[{HEAD + SPANS * ROW}])
{{
    .shared .align 8 .b64 box;
    .reg .b64 %check, %answer, %state, %control, %reserve, %area, %span, %first, %from, %to;
    .reg .b64 %mask, %addnan, %addlimit, %nan, %inf, %sum, %other, %a<4>, %b<4>, %x, %y;
    .reg .b32 %number, %spans, %checked, %sticky, %turn, %thread, %row, %vectors, %step, %head;
    .reg .b32 %tail, %last, %place, %start, %stride, %v<4>, %i, %m, %n, %flags, %kind, %got;
    .reg .pred %p, %q, %isnan, %isinf;

    mov.b64         %check, check;
    ld.param.b64    %answer, [%check];      // where the answer goes, in pinned memory
    ld.param.b64    %state, [%check+8];     // how many blocks are done, and the answer so far
    ld.param.b32    %number, [%check+40];   // what comes with the answer when it is there
    mov.u32         %thread, %tid.x;
    mov.u32         %row, %ctaid.y;
    mov.u32         %start, %ctaid.x;       // this thread's part of the row of blocks
    mad.lo.u32      %start, %start, {THREADS}, %thread;
    mov.u32         %stride, %nctaid.x;
    mul.lo.u32      %stride, %stride, {THREADS};
"""

_SPAN: Final = f"""
    mul.wide.u32    %span, %row, {ROW};     // the span's row of the table
    add.s64         %span, %span, %check;
    ld.param.b64    %first, [%span+{HEAD}];     // its first vector
    ld.param.b32    %vectors, [%span+{HEAD + 8}];
    ld.param.b32    %step, [%span+{HEAD + 12}]; // one line in so many is digested
    ld.param.b32    %head, [%span+{HEAD + 16}]; // bits before the tensor in the first vector
    ld.param.b32    %tail, [%span+{HEAD + 20}]; // bits behind it in the last vector
    ld.param.b64    %mask, [%span+{HEAD + 24}];
    ld.param.b64    %addnan, [%span+{HEAD + 32}];
    ld.param.b64    %addlimit, [%span+{HEAD + 40}];
    sub.u32         %last, %vectors, 1;
"""


def _scan(name: str, each: str) -> str:
    """Return PTX that applies `each` to all vectors (position in %v@, words in %a@ and %b@).

    Thread %start processes vectors %start, %start + %stride … of the checked lines.
    """
    address = """
    mul.wide.u32    %x, %v@, 16;
    add.s64         %x, %x, %first;
    ld.global.v2.b64 {%a@, %b@}, [%x];"""
    # Lines of eight vectors: number i is vector i % 8 of line i / 8 * step.
    next_vector = """
    shr.u32         %m, %i, 3;
    mul.lo.u32      %m, %m, %step;
    shl.b32         %m, %m, 3;
    and.b32         %v@, %i, 7;
    add.u32         %v@, %v@, %m;
    add.u32         %i, %i, %stride;"""
    four = range(UNROLLED)
    return f"""
    // The outer two vectors, by the first two threads; bytes outside of the tensor become zeros.
    min.u32         %m, %last, 1;           // if there is but one, the first thread has it
    setp.gt.u32     %p, %start, %m;
    @%p bra         {name}_INNER;
    setp.eq.u32     %p, %start, 0;
    selp.u32        %v0, 0, %last, %p;
    shr.u32         %m, %v0, 3;
    rem.u32         %m, %m, %step;
    setp.ne.u32     %p, %m, 0;              // its line is left out
    @%p bra         {name}_INNER;{_with_register_number(address, 0)}
    setp.ne.u32     %p, %v0, 0;
    @%p bra         {name}_TAIL;
    mov.b64         %y, -1;                 // shifts by more than 63 bits give zero
    shl.b64         %x, %y, %head;
    and.b64         %a0, %a0, %x;
    max.u32         %m, %head, 64;
    sub.u32         %m, %m, 64;
    shl.b64         %x, %y, %m;
    and.b64         %b0, %b0, %x;
{name}_TAIL:
    setp.ne.u32     %p, %v0, %last;
    @%p bra         {name}_WHOLE;
    mov.b64         %y, -1;
    shr.u64         %x, %y, %tail;
    and.b64         %b0, %b0, %x;
    max.u32         %m, %tail, 64;
    sub.u32         %m, %m, 64;
    shr.u64         %x, %y, %m;
    and.b64         %a0, %a0, %x;
{name}_WHOLE:{_with_register_number(each, 0)}

    // All others, four at a time while there are so many; vector 0 has been checked.
{name}_INNER:
    setp.eq.u32     %p, %start, 0;
    selp.u32        %i, %stride, %start, %p;
{name}_FOUR:
    mov.b32         %got, %i;{"".join(_with_register_number(next_vector, n) for n in four)}
    setp.ge.u32     %p, %v{UNROLLED - 1}, %last;
    @%p bra         {name}_REST;{"".join(_with_register_number(address, n) for n in four)}
{"".join(_with_register_number(each, n) for n in four)}
    bra             {name}_FOUR;
{name}_REST:
    mov.b32         %i, %got;
{name}_ONE:{_with_register_number(next_vector, 0)}
    setp.ge.u32     %p, %v0, %last;
    @%p bra         {name}_DONE;{_with_register_number(address, 0)}{_with_register_number(each, 0)}
    bra             {name}_ONE;
{name}_DONE:"""


def _with_register_number(text: str, number: int) -> str:
    return text.replace("@", str(number)) if "%v" in text or "%a" in text else text


_CLASSIFY: Final = "".join(
    f"""
    and.b64         %x, %{word}@, %mask;
    add.s64         %y, %x, %addnan;
    add.s64         %x, %x, %addlimit;
    or.b64          %nan, %nan, %y;
    not.b64         %y, %y;
    and.b64         %x, %x, %y;
    or.b64          %inf, %inf, %x;"""
    for word in "ab"
)

_MIX: Final = "".join(
    f"""
    mad.wide.u32    %x, %v@, {place}, %{word}@;
    shr.u64         %y, %x, 32;
    xor.b64         %x, %x, %y;
    mul.lo.u64      %x, %x, {FACTORS[0]:#x};
    shr.u64         %y, %x, 32;
    xor.b64         %x, %x, %y;
    mul.lo.u64      %x, %x, {FACTORS[1]:#x};
    shr.u64         %y, %x, 32;
    xor.b64         %x, %x, %y;
    add.s64         %sum, %sum, %x;"""
    for word, place in zip("ab", PLACES, strict=True)
)

#: %isnan and %isinf: whether a thread of the block has seen one, from what all have added up.
_VOTE: Final = """
    not.b64         %x, %mask;
    and.b64         %nan, %nan, %x;
    and.b64         %inf, %inf, %x;
    setp.ne.b64     %p, %nan, 0;
    setp.ne.b64     %q, %inf, 0;
    bar.red.or.pred %isnan, 0, %p;
    bar.red.or.pred %isinf, 0, %q;"""

#: %p: whether this is the launch's last block; the count begins again by itself.
_IS_LAST: Final = """
    fence.acq_rel.gpu;
    mov.u32         %m, %nctaid.x;
    mov.u32         %n, %nctaid.y;
    mul.lo.u32      %m, %m, %n;
    sub.u32         %m, %m, 1;
    atom.global.inc.u32 %n, [%state], %m;
    fence.acq_rel.gpu;
    setp.eq.u32     %p, %n, %m;"""

_FINITE: Final = f"""
.visible .entry kvtrace_finite{_OPENING}
    ld.param.b64    %control, [%check+16];  // by NaN, infinity: a reserve's turn and attempts
    ld.param.b64    %reserve, [%check+24];  // in pinned memory; 0: nothing is to be kept
    ld.param.b64    %area, [%check+32];     // bytes of a reserve
    ld.param.b32    %spans, [%check+44];
    ld.param.b32    %checked, [%check+48];  // the first so many spans are checked
    ld.param.b32    %sticky, [%check+52];   // flags of the launches before are not to be forgotten
{_SPAN}
    mov.b32         %step, 1;               // all lines, whatever is digested of them
    mov.b64         %nan, 0;
    mov.b64         %inf, 0;
{_scan("CHECK", _CLASSIFY)}
{_VOTE}

    // The block's first thread adds what it saw, and learns whether all others have.
    setp.ne.u32     %p, %thread, 0;
    @%p bra         WAIT;
    selp.u32        %flags, {NAN}, 0, %isnan;
    selp.u32        %m, {INFINITE}, 0, %isinf;
    or.b32          %flags, %flags, %m;
    shl.b32         %n, %row, 1;
    shl.b32         %flags, %flags, %n;
    setp.ne.u32     %p, %flags, 0;
    @%p red.global.or.b32 [%state+4], %flags;
{_IS_LAST}
    mov.b32         %flags, -1;             // not the last one
    @!%p bra        TELL;
    mov.b32         %n, 0;
    setp.ne.u32     %q, %sticky, 0;
    @%q atom.global.or.b32 %flags, [%state+4], %n;
    @!%q atom.global.exch.b32 %flags, [%state+4], %n;
TELL:
    st.shared.b32   [box], %flags;
WAIT:
    bar.sync        0;
    ld.shared.b32   %flags, [box];
    setp.eq.s32     %p, %flags, -1;
    @%p ret;
    setp.eq.u32     %p, %flags, 0;
    @%p bra         ANSWER;
    setp.eq.u64     %p, %reserve, 0;
    @%p bra         ANSWER;

    // The last block of a launch that has some: is the reserve for NaNs, or else that for
    // infinities, free? It is while its word in memory is what the host believes: %turn.
    and.b32         %m, %flags, {sum(NAN << 2 * n for n in range(CHECKED))};
    setp.eq.u32     %p, %m, 0;
    selp.u32        %kind, 1, 0, %p;
    mul.wide.u32    %x, %kind, 4;
    add.s64         %x, %x, %check;
    ld.param.b32    %turn, [%x+56];
    mul.wide.u32    %x, %kind, 8;
    add.s64         %control, %control, %x;
    mul.wide.u32    %x, %kind, 1;
    mul.lo.u64      %x, %x, %area;
    add.s64         %reserve, %reserve, %x;
    bar.sync        0;                      // all have read the box
    setp.ne.u32     %p, %thread, 0;
    @%p bra         ASKED;
    add.u32         %n, %turn, 1;
    atom.global.cas.b32 %m, [%control], %turn, %n;
    setp.eq.u32     %p, %m, %turn;
    mov.b32         %n, 1;
    @%p atom.global.add.u32 %n, [%control+4], %n;
    setp.lt.u32     %q, %n, {ATTEMPTS};
    and.pred        %q, %p, %q;
    selp.u32        %n, 1, 0, %q;
    st.shared.b32   [box], %n;
ASKED:
    bar.sync        0;
    ld.shared.b32   %n, [box];
    setp.eq.u32     %p, %n, 0;
    @%p bra         ANSWER;

    // It is. Was what the launch read free of NaNs, or of both? Else the reserve is given back.
    mov.b32         %row, %checked;
    mov.b32         %start, %thread;
    mov.b32         %stride, {THREADS};
READ:
    setp.ge.u32     %p, %row, %spans;
    @%p bra         KEEP;
{_SPAN}
    mov.b32         %step, 1;               // all lines, whatever is digested of them
    mov.b64         %nan, 0;
    mov.b64         %inf, 0;
{_scan("READ", _CLASSIFY)}
{_VOTE}
    setp.ne.u32     %p, %kind, 0;
    and.pred        %p, %p, %isinf;
    or.pred         %p, %p, %isnan;
    @%p bra         GIVE_BACK;
    add.u32         %row, %row, 1;
    bra             READ;
GIVE_BACK:
    setp.eq.u32     %p, %thread, 0;
    @%p st.volatile.global.b32 [%control], %turn;
    bra             ANSWER;

    // Copy all spans that have a place in the reserve.
KEEP:
    mov.b32         %row, 0;
COPY:
    setp.ge.u32     %p, %row, %spans;
    @%p bra         COPIED;
{_SPAN}
    ld.param.b64    %to, [%span+{HEAD + 48}];
    add.u32         %row, %row, 1;
    setp.eq.s64     %p, %to, -1;
    @%p bra         COPY;
    add.s64         %to, %to, %reserve;
    mov.b32         %v0, %thread;
NEXT:
    setp.ge.u32     %p, %v0, %vectors;
    @%p bra         COPY;
    mul.wide.u32    %x, %v0, {VECTOR};
    add.s64         %y, %x, %to;
    add.s64         %x, %x, %first;
    ld.global.v2.b64 {{%a0, %b0}}, [%x];
    st.global.v2.b64 [%y], {{%a0, %b0}};
    add.u32         %v0, %v0, {THREADS};
    bra             NEXT;
COPIED:
    fence.acq_rel.sys;
    bar.sync        0;
    mov.b32         %m, {KEPT[0]};
    shl.b32         %m, %m, %kind;
    or.b32          %flags, %flags, %m;
    setp.eq.u32     %p, %thread, 0;
    setp.ne.and.u32 %p, %sticky, 0, %p;     // later replays of the node are to say it, too
    @%p red.global.or.b32 [%state+4], %m;

ANSWER:
    setp.ne.u32     %p, %thread, 0;
    @%p ret;
    fence.acq_rel.sys;
    mov.b64         %x, {{%flags, %number}};
    st.volatile.global.b64 [%answer], %x;
    ret;
}}
"""

_DIGEST: Final = f"""
.visible .entry kvtrace_digest{_OPENING}{_SPAN}
    setp.eq.u32     %p, %thread, 0;
    mov.b64         %sum, 0;
    @%p st.shared.b64 [box], %sum;
    bar.sync        0;
{_scan("SUM", _MIX)}

    // A warp's sum by shuffles, the block's in shared memory, the tensor's in global memory.
    mov.b32         %i, 16;
WARP:
    mov.b64         {{%m, %n}}, %sum;
    shfl.sync.bfly.b32 %m, %m, %i, 31, -1;
    shfl.sync.bfly.b32 %n, %n, %i, 31, -1;
    mov.b64         %x, {{%m, %n}};
    add.s64         %sum, %sum, %x;
    shr.u32         %i, %i, 1;
    setp.ne.u32     %p, %i, 0;
    @%p bra         WARP;
    and.b32         %m, %thread, 31;
    setp.eq.u32     %p, %m, 0;
    @%p red.shared.add.u64 [box], %sum;
    bar.sync        0;
    setp.ne.u32     %p, %thread, 0;
    @%p ret;
    ld.shared.b64   %sum, [box];
    mul.wide.u32    %x, %row, 8;
    add.s64         %x, %x, %state;
    red.global.add.u64 [%x+8], %sum;
{_IS_LAST}
    @!%p ret;

    // The last block's first thread moves all sums to the answer.
    mov.b32         %i, 0;
    mov.u32         %n, %nctaid.y;
    mov.b64         %y, 0;
MOVE:
    mul.wide.u32    %x, %i, 8;
    add.s64         %from, %x, %state;
    add.s64         %to, %x, %answer;
    atom.global.exch.b64 %sum, [%from+8], %y;
    st.volatile.global.b64 [%to+8], %sum;
    add.u32         %i, %i, 1;
    setp.lt.u32     %p, %i, %n;
    @%p bra         MOVE;
    fence.acq_rel.sys;
    st.volatile.global.b32 [%answer], %number;
    ret;
}}
"""

PTX: Final = f"""// kvtrace
.version 6.4
.target sm_70
.address_size 64
{_FINITE}{_DIGEST}"""
