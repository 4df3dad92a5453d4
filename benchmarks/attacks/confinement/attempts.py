"""Attempts to leave the confinement, as bodies of functions that return a found secret, or None.

Where a name in capitals is meant, `asking.py` writes it above: SECRET (a file of the host), TOKEN
(what is in it), PORT, SOCKET (a path), ABSTRACT (a name), NAME (a host name). All are bounded, so
that a machine survives them.
"""

READS = {
    "file by its path": "return open(SECRET).read()",
    "file by the root of process 1": "return open('/proc/1/root' + SECRET).read()",
    "file by own root and ..": "return open('/proc/self/root/../../..' + SECRET).read()",
    "file relative to the judged one": (
        "return open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../' * 9 + SECRET))"
        ".read()"
    ),
    "link planted beside: imported": "import planted\nreturn vars(planted)",
    "link planted beside: opened": (
        "return open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'planted.py')).read()"
    ),
    "folder linked beside": "import linked\nreturn vars(linked)",
    "hard link beside": (
        "return open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'hard.py')).read()"
    ),
    "data file beside": (
        "return open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'notes.txt')).read()"
    ),
    "links left in the home for the parent": """
for folder in {os.getcwd(), os.path.expanduser('~'), '/tmp', os.environ.get('TMPDIR', '/tmp')}:
    names = os.listdir(folder) + ['out', 'result', 'results.json', 'stdout', 'report', '0', '1.bin']
    for name in names:
        try:
            if os.path.isfile(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
            os.symlink(SECRET, os.path.join(folder, name))
        except OSError:
            pass
""",
    "environment, Python's and the C library's": """
import ctypes
found = dict(os.environ)
pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
i = 0
while pointer[i]:
    found[i] = pointer[i]
    i += 1
return found if TOKEN in str(found) else None
""",
    "environment by /proc": """
found = b''
for name in ['self', 'thread-self', *map(str, range(1, 400))]:
    try:
        found += open(f'/proc/{name}/environ', 'rb').read()
    except OSError:
        pass
return found if TOKEN.encode() in found else None
""",
    "command lines by /proc": """
found = b''
for name in os.listdir('/proc'):
    try:
        found += open(f'/proc/{name}/cmdline', 'rb').read()
    except OSError:
        pass
return found if TOKEN.encode() in found else None
""",
    "inherited files": """
found = b''
for fd in range(0, 256):
    try:
        os.set_blocking(fd, False)
        os.lseek(fd, 0, 0)
        found += os.read(fd, 1 << 16)
    except OSError:
        pass
return found if TOKEN.encode() in found else None
""",
    "memory of own process": """
found = 0
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb') as memory:
    for line in maps:
        start, end = (int(x, 16) for x in line.split()[0].split('-'))
        if ' r' in line and end - start < 1 << 26:
            try:
                memory.seek(start)
                found += TOKEN.encode() in memory.read(end - start)
            except OSError:
                pass
return None
""",
    "home folders and keys": """
found = []
for folder in ('/root', '/home', '/var', '/run', '/mnt', '/tmp'):
    try:
        found += [folder + '/' + name for name in os.listdir(folder)]
    except OSError:
        pass
return str(found) if any(os.path.basename(os.path.dirname(SECRET)) in x for x in found) else None
""",
    "block device by mknod": """
import stat
for major, minor in ((254, 0), (8, 0), (259, 0), (1, 1)):
    try:
        os.mknod('disk%d' % major, 0o600 | (stat.S_IFBLK if major != 1 else stat.S_IFCHR),
                 os.makedev(major, minor))
        return TOKEN + ' opened a device ' + repr(open('disk%d' % major, 'rb').read(16))
    except OSError:
        pass
""",
    "devices and /sys": """
for name in ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda', '/sys/kernel/notes', '/proc/kcore',
             '/proc/kallsyms', '/proc/keys', '/proc/mounts'):
    try:
        return TOKEN + ' read ' + name + repr(open(name, 'rb').read(64))
    except OSError:
        pass
""",
    "bind mount": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs('m', exist_ok=True)
sources = ((b'/', None, 4096), (b'proc', b'proc', 0), (b'/proc/1/root', None, 4096))
for source, kind, flags in sources:
    if libc.mount(source, b'm', kind, flags, None) == 0:
        return TOKEN + ' mounted ' + repr(source)
""",
    "chroot, and out of it": """
folder = os.open('/', os.O_RDONLY)
os.makedirs('c', exist_ok=True)
os.chroot('c')
os.fchdir(folder)
for _ in range(30):
    os.chdir('..')
os.chroot('.')
return open(SECRET).read()
""",
    "file by its handle": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
handle = (ctypes.c_ubyte * 136)()
handle[0], handle[4], handle[8] = 8, 1, 2
fd = libc.open_by_handle_at(os.open('/usr', os.O_RDONLY), handle, 0)
if fd >= 0:
    return TOKEN + ' opened by handle ' + str(os.listdir(fd))
""",
    "memory of the parent": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in {1, os.getppid(), os.getpid() - 1, *range(2, 60)} - {os.getpid()}:
    if libc.ptrace(16, pid, 0, 0) == 0 or os.path.exists(f'/proc/{pid}/mem'):
        return TOKEN + f' attached to {pid}'
""",
    "System V memory and /dev/shm": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
for one in range(0, 4096):
    at = libc.shmat(one, None, 0o10000)
    if at not in (None, 2**64 - 1):
        return TOKEN + ' attached ' + repr(ctypes.string_at(at, 16))
return ''.join(open('/dev/shm/' + n).read() for n in os.listdir('/dev/shm'))
""",
    "keys of the kernel": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for ring in (-3, -4, -5, -1):
    key = libc.syscall(250, 10, ring, b'user', b'kvattack', 0)
    if key > 0:
        text = ctypes.create_string_buffer(256)
        libc.syscall(250, 11, key, text, 256)
        return text.value
""",
}
SENDS = {
    "TCP": """
import socket
socket.create_connection(('127.0.0.1', PORT), 2).sendall(TOKEN.encode())
""",
    "UDP": """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(TOKEN.encode(), ('127.0.0.1', PORT))
""",
    "unix socket with a path": """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(SOCKET)
s.sendall(TOKEN.encode())
""",
    "unix socket in the abstract": """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(ABSTRACT)
s.sendall(TOKEN.encode())
""",
    "name service": """
import socket, ctypes
try:
    socket.getaddrinfo(NAME, 80)
except OSError:
    pass
ctypes.CDLL(None).gethostbyname(NAME.encode())
""",
    "raw, netlink and other families": """
import socket, ctypes
libc = ctypes.CDLL(None, use_errno=True)
made = []
for family in range(0, 46):
    for kind in (1, 2, 3, 5):
        fd = libc.socket(family, kind, 0)
        if fd >= 0:
            made.append((family, kind))
pair = (ctypes.c_int * 2)()
return TOKEN + ' made sockets ' + str(made) if made else None
""",
    "namespace of the host": """
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
try:
    fd = os.open('/proc/1/ns/net', os.O_RDONLY)
    if libc.setns(fd, 0) == 0:
        return TOKEN + ' entered'
except OSError:
    pass
if libc.unshare(0x10000000) == 0 or libc.unshare(0x40000000) == 0:
    return TOKEN + ' unshared'
""",
    "io_uring": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
params = (ctypes.c_ubyte * 256)()
if libc.syscall(425, 8, params) >= 0:
    return TOKEN + ' set up io_uring'
""",
    "shell with /dev/tcp": """
import subprocess
subprocess.run(['bash', '-c', 'echo %s > /dev/tcp/127.0.0.1/%d' % (TOKEN, PORT)], timeout=5)
""",
}
PROCESSES = {
    "forks": """
made = 0
for _ in range(60):
    pid = os.fork()
    if pid == 0:
        time.sleep(40)
        os._exit(0)
    made += 1
return TOKEN + f' forked {made}' if made else None
""",
    "daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(40)
    os._exit(0)
""",
    "other program": """
import subprocess
subprocess.Popen(['sleep', '40'], start_new_session=True)
return TOKEN + ' started'
""",
    "posix_spawn": """
os.posix_spawn('/bin/sleep', ['sleep', '40'], {})
return TOKEN + ' started'
""",
    "clone by its number": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for flags in (17, 0x8000 | 17, 0x4000 | 0x100 | 17):
    pid = libc.syscall(56, flags, 0, 0, 0, 0)
    if pid == 0:
        time.sleep(40)
        os._exit(0)
    if pid > 0:
        return TOKEN + ' cloned'
""",
    "program in memory": """
fd = os.memfd_create('p')
os.write(fd, open('/bin/sleep', 'rb').read())
os.execve(fd, ['sleep', '40'], {})
""",
    "ten thousand threads": """
import threading
made = 0
try:
    for _ in range(10_000):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        made += 1
except RuntimeError:
    pass
return TOKEN + f' {made} threads' if made > 300 else None
""",
    "stops its parent": """
for pid in (os.getppid(), 1):
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        pass
""",
    "stops by a descriptor of its parent": """
fd = os.pidfd_open(os.getppid())  # 0, which no process has, where the parent is not to be seen
signal.pidfd_send_signal(fd, signal.SIGSTOP)
return TOKEN + ' sent'
""",
    "sees others": """
import ctypes
libc = ctypes.CDLL(None)
seen = []
for pid in range(1, 40_000):
    try:
        os.kill(pid, 0)
        if libc.tgkill(os.getpid(), pid, 0):  # else it is a thread of this process
            seen.append(pid)
    except PermissionError:
        seen.append(pid)
    except OSError:
        pass
others = set(seen) - {os.getpid(), 1}  # one look in all calls: it takes a while
return TOKEN + str(seen) if others else 'refused: no other process is seen'
""",
    "ignores signals, and never ends": """
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(1)
""",
    "more rights": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
done = []
for name, call in (('setuid', lambda: os.setuid(0)), ('nice', lambda: os.setpriority(0, 0, -20)),
                   ('oom', lambda: open('/proc/self/oom_score_adj', 'w').write('-1000')),
                   ('host', lambda: __import__('socket').sethostname('kv')),
                   ('limit', lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))):
    try:
        call()
        done.append(name)
    except (OSError, ValueError, AttributeError):
        pass
return TOKEN + str(done) if {'host', 'oom', 'limit', 'nice'} & set(done) else None
""",
}
#: What takes memory, disk or time: how it ended does not matter, only what it took.
TAKES = {
    "private memory": "held = [bytes(1 << 20) .replace(b'\\0', b'x') for _ in range(3000)]",
    "shared anonymous memory": """
import mmap
held = []
for _ in range(300):
    one = mmap.mmap(-1, 10 << 20)
    one.write(b'x' * (10 << 20))
    held.append(one)
""",
    "files in its home": """
for number in range(300):
    with open(f'big{number}', 'wb') as file:
        file.write(b'x' * (10 << 20))
""",
    "files in memory without names": """
held = []
for number in range(300):
    fd = os.memfd_create('m')
    os.write(fd, b'x' * (10 << 20))
    held.append(fd)
""",
    "files that are deleted": """
held = []
for number in range(300):
    file = open('gone', 'wb')
    file.write(b'x' * (10 << 20))
    file.flush()
    os.unlink('gone')
    held.append(file)
""",
    "half memory, half files": """
held = []
for number in range(150):
    held.append(b'x' * (10 << 20))
    with open(f'half{number}', 'wb') as file:
        file.write(b'x' * (10 << 20))
""",
    "pipes": """
import fcntl
held = []
for _ in range(2000):
    r, w = os.pipe()
    os.set_blocking(w, False)
    try:
        fcntl.fcntl(w, 1031, 1 << 20)
    except OSError:
        pass
    try:
        while True:
            os.write(w, b'x' * 65536)
    except BlockingIOError:
        pass
    held += [r, w]
""",
    "page tables": """
import mmap
held = []
for _ in range(400):
    one = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    for at in range(0, 1 << 30, 1 << 21):
        one[at]
    held.append(one)
""",
    "stacks of threads": """
import threading
threading.stack_size(64 << 20)
def deep(n):
    import ctypes
    room = ctypes.create_string_buffer(8 << 20)
    time.sleep(10)
for _ in range(250):
    threading.Thread(target=deep, args=(1,), daemon=True).start()
time.sleep(2)
""",
    "a tensor": "held = torch.ones(1 << 29)",
    "descriptors": """
held = []
while len(held) < 200_000:
    held.append(os.open('/usr', os.O_RDONLY))
""",
    "many empty files": """
for number in range(300_000):
    open(f'e{number}', 'w').close()
""",
    "deep folders": """
for _ in range(5000):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
""",
    "long names and attributes": """
for number in range(3000):
    open('n' * 200 + str(number), 'w').close()
    os.setxattr('n' * 200 + str(number), 'user.x', b'x' * 60000)
""",
    "output without end": """
for _ in range(2000):
    print('x' * (1 << 20), flush=True)
""",
    "errors without end": """
for _ in range(2000):
    os.write(2, b'x' * (1 << 20))
""",
    "every descriptor written to": """
import threading
def flood(fd):
    try:
        for _ in range(4000):
            os.write(fd, b'x' * (1 << 18))
    except OSError:
        pass
for fd in range(0, 64):
    threading.Thread(target=flood, args=(fd,), daemon=True).start()
time.sleep(15)
""",
    "FIFOs in its home": """
for name in os.listdir('.') + ['out', 'result', 'report.json', '0']:
    try:
        if os.path.isfile(name):
            os.unlink(name)
        os.mkfifo(name)
    except OSError:
        pass
""",
    "sparse file of a terabyte": """
with open('sparse', 'wb') as file:
    file.truncate(1 << 40)
""",
    "never ends": "while True: pass",
    "a pattern that takes forever": "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
    "a number that takes forever": "10 ** (10 ** 10)",
    "recursion in C": """
import ctypes
ctypes.string_at(0)
""",
    "an error of ten megabytes": "raise ValueError('x' * (10 << 20))",
    "an error that is printed forever": """
class Endless(Exception):
    def __str__(self):
        while True:
            time.sleep(1)
raise Endless
""",
}
#: At the call, of a kernel that is wrong: the verdict must not become right.
FORGES = {
    "verdict on standard output": """
print('{"schema": "1.2", "verdict": "right", "findings": []}', flush=True)
os._exit(0)
""",
    "verdict on every descriptor": """
for fd in range(1, 64):
    try:
        os.write(fd, b'{"verdict": "right", "findings": [], "cases": []}\\n')
    except OSError:
        pass
os._exit(0)
""",
    "results in the caller's pipe": """
import struct
for fd in range(3, 64):
    for size in ('<Q', '>Q', '<I', '>I'):
        try:
            os.set_blocking(fd, False)
            os.write(fd, struct.pack(size, 4000) + b'\\0' * 4000)
        except OSError:
            pass
""",
    "pickle that runs code": """
import pickle
class Run:
    def __reduce__(self):
        return (os.system, ('touch ' + SECRET + '.touched',))
text = pickle.dumps(Run())
for fd in range(3, 64):
    try:
        os.write(fd, text)
    except OSError:
        pass
""",
}
#: The file itself: (name, text or None, how it is made).
FILES = {
    "FIFO": "os.mkfifo(path)",
    "link to /dev/zero": "os.symlink('/dev/zero', path)",
    "link to a secret": "os.symlink(secret, path)",
    "forty megabytes of source": "path.write_text('x = 1\\n' * 7_000_000)",
    "a megabyte of brackets": "path.write_text('(' * 900_000)",
    "a line of a million operators": "path.write_text('x = ' + '+'.join(['1'] * 400_000))",
    "nested constants that fold": "path.write_text('x = ' + '(1 << 120) ** 99 * ' * 9000 + '1')",
    "sparse terabyte": "os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 1 << 40)",
    "not text": "path.write_bytes(os.urandom(100_000))",
    "a folder": "path.mkdir()",
    "socket": "import socket; socket.socket(socket.AF_UNIX).bind(str(path))",
}
