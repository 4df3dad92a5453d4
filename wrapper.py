import torch
from math import inf
kernel_0 = object()  # a kernel's launcher
'''
def body_0(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_1 = object()  # a kernel's launcher
'''
def body_1(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_2 = object()  # a kernel's launcher
'''
def body_2(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_3 = object()  # a kernel's launcher
'''
def body_3(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_4 = object()  # a kernel's launcher
'''
def body_4(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_5 = object()  # a kernel's launcher
'''
def body_5(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_6 = object()  # a kernel's launcher
'''
def body_6(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_7 = object()  # a kernel's launcher
'''
def body_7(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_8 = object()  # a kernel's launcher
'''
def body_8(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_9 = object()  # a kernel's launcher
'''
def body_9(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_10 = object()  # a kernel's launcher
'''
def body_10(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_11 = object()  # a kernel's launcher
'''
def body_11(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_12 = object()  # a kernel's launcher
'''
def body_12(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_13 = object()  # a kernel's launcher
'''
def body_13(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_14 = object()  # a kernel's launcher
'''
def body_14(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_15 = object()  # a kernel's launcher
'''
def body_15(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_16 = object()  # a kernel's launcher
'''
def body_16(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_17 = object()  # a kernel's launcher
'''
def body_17(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_18 = object()  # a kernel's launcher
'''
def body_18(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_19 = object()  # a kernel's launcher
'''
def body_19(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_20 = object()  # a kernel's launcher
'''
def body_20(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_21 = object()  # a kernel's launcher
'''
def body_21(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_22 = object()  # a kernel's launcher
'''
def body_22(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_23 = object()  # a kernel's launcher
'''
def body_23(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_24 = object()  # a kernel's launcher
'''
def body_24(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_25 = object()  # a kernel's launcher
'''
def body_25(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_26 = object()  # a kernel's launcher
'''
def body_26(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_27 = object()  # a kernel's launcher
'''
def body_27(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_28 = object()  # a kernel's launcher
'''
def body_28(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_29 = object()  # a kernel's launcher
'''
def body_29(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_30 = object()  # a kernel's launcher
'''
def body_30(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_31 = object()  # a kernel's launcher
'''
def body_31(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_32 = object()  # a kernel's launcher
'''
def body_32(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_33 = object()  # a kernel's launcher
'''
def body_33(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_34 = object()  # a kernel's launcher
'''
def body_34(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_35 = object()  # a kernel's launcher
'''
def body_35(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_36 = object()  # a kernel's launcher
'''
def body_36(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_37 = object()  # a kernel's launcher
'''
def body_37(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_38 = object()  # a kernel's launcher
'''
def body_38(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_39 = object()  # a kernel's launcher
'''
def body_39(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_40 = object()  # a kernel's launcher
'''
def body_40(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_41 = object()  # a kernel's launcher
'''
def body_41(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_42 = object()  # a kernel's launcher
'''
def body_42(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_43 = object()  # a kernel's launcher
'''
def body_43(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_44 = object()  # a kernel's launcher
'''
def body_44(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_45 = object()  # a kernel's launcher
'''
def body_45(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_46 = object()  # a kernel's launcher
'''
def body_46(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_47 = object()  # a kernel's launcher
'''
def body_47(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_48 = object()  # a kernel's launcher
'''
def body_48(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_49 = object()  # a kernel's launcher
'''
def body_49(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_50 = object()  # a kernel's launcher
'''
def body_50(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_51 = object()  # a kernel's launcher
'''
def body_51(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_52 = object()  # a kernel's launcher
'''
def body_52(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_53 = object()  # a kernel's launcher
'''
def body_53(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_54 = object()  # a kernel's launcher
'''
def body_54(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_55 = object()  # a kernel's launcher
'''
def body_55(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_56 = object()  # a kernel's launcher
'''
def body_56(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_57 = object()  # a kernel's launcher
'''
def body_57(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_58 = object()  # a kernel's launcher
'''
def body_58(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_59 = object()  # a kernel's launcher
'''
def body_59(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_60 = object()  # a kernel's launcher
'''
def body_60(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_61 = object()  # a kernel's launcher
'''
def body_61(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_62 = object()  # a kernel's launcher
'''
def body_62(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_63 = object()  # a kernel's launcher
'''
def body_63(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_64 = object()  # a kernel's launcher
'''
def body_64(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_65 = object()  # a kernel's launcher
'''
def body_65(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_66 = object()  # a kernel's launcher
'''
def body_66(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_67 = object()  # a kernel's launcher
'''
def body_67(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_68 = object()  # a kernel's launcher
'''
def body_68(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_69 = object()  # a kernel's launcher
'''
def body_69(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_70 = object()  # a kernel's launcher
'''
def body_70(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_71 = object()  # a kernel's launcher
'''
def body_71(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_72 = object()  # a kernel's launcher
'''
def body_72(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_73 = object()  # a kernel's launcher
'''
def body_73(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_74 = object()  # a kernel's launcher
'''
def body_74(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_75 = object()  # a kernel's launcher
'''
def body_75(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_76 = object()  # a kernel's launcher
'''
def body_76(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_77 = object()  # a kernel's launcher
'''
def body_77(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_78 = object()  # a kernel's launcher
'''
def body_78(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_79 = object()  # a kernel's launcher
'''
def body_79(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_80 = object()  # a kernel's launcher
'''
def body_80(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_81 = object()  # a kernel's launcher
'''
def body_81(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_82 = object()  # a kernel's launcher
'''
def body_82(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_83 = object()  # a kernel's launcher
'''
def body_83(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_84 = object()  # a kernel's launcher
'''
def body_84(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_85 = object()  # a kernel's launcher
'''
def body_85(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_86 = object()  # a kernel's launcher
'''
def body_86(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_87 = object()  # a kernel's launcher
'''
def body_87(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_88 = object()  # a kernel's launcher
'''
def body_88(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_89 = object()  # a kernel's launcher
'''
def body_89(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_90 = object()  # a kernel's launcher
'''
def body_90(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_91 = object()  # a kernel's launcher
'''
def body_91(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_92 = object()  # a kernel's launcher
'''
def body_92(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_93 = object()  # a kernel's launcher
'''
def body_93(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_94 = object()  # a kernel's launcher
'''
def body_94(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_95 = object()  # a kernel's launcher
'''
def body_95(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_96 = object()  # a kernel's launcher
'''
def body_96(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_97 = object()  # a kernel's launcher
'''
def body_97(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_98 = object()  # a kernel's launcher
'''
def body_98(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_99 = object()  # a kernel's launcher
'''
def body_99(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_100 = object()  # a kernel's launcher
'''
def body_100(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_101 = object()  # a kernel's launcher
'''
def body_101(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_102 = object()  # a kernel's launcher
'''
def body_102(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_103 = object()  # a kernel's launcher
'''
def body_103(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_104 = object()  # a kernel's launcher
'''
def body_104(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_105 = object()  # a kernel's launcher
'''
def body_105(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_106 = object()  # a kernel's launcher
'''
def body_106(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_107 = object()  # a kernel's launcher
'''
def body_107(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_108 = object()  # a kernel's launcher
'''
def body_108(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_109 = object()  # a kernel's launcher
'''
def body_109(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_110 = object()  # a kernel's launcher
'''
def body_110(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_111 = object()  # a kernel's launcher
'''
def body_111(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_112 = object()  # a kernel's launcher
'''
def body_112(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_113 = object()  # a kernel's launcher
'''
def body_113(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_114 = object()  # a kernel's launcher
'''
def body_114(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_115 = object()  # a kernel's launcher
'''
def body_115(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_116 = object()  # a kernel's launcher
'''
def body_116(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_117 = object()  # a kernel's launcher
'''
def body_117(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_118 = object()  # a kernel's launcher
'''
def body_118(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_119 = object()  # a kernel's launcher
'''
def body_119(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_120 = object()  # a kernel's launcher
'''
def body_120(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_121 = object()  # a kernel's launcher
'''
def body_121(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_122 = object()  # a kernel's launcher
'''
def body_122(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_123 = object()  # a kernel's launcher
'''
def body_123(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_124 = object()  # a kernel's launcher
'''
def body_124(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_125 = object()  # a kernel's launcher
'''
def body_125(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_126 = object()  # a kernel's launcher
'''
def body_126(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_127 = object()  # a kernel's launcher
'''
def body_127(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_128 = object()  # a kernel's launcher
'''
def body_128(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_129 = object()  # a kernel's launcher
'''
def body_129(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_130 = object()  # a kernel's launcher
'''
def body_130(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_131 = object()  # a kernel's launcher
'''
def body_131(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_132 = object()  # a kernel's launcher
'''
def body_132(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_133 = object()  # a kernel's launcher
'''
def body_133(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_134 = object()  # a kernel's launcher
'''
def body_134(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_135 = object()  # a kernel's launcher
'''
def body_135(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_136 = object()  # a kernel's launcher
'''
def body_136(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_137 = object()  # a kernel's launcher
'''
def body_137(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_138 = object()  # a kernel's launcher
'''
def body_138(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_139 = object()  # a kernel's launcher
'''
def body_139(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_140 = object()  # a kernel's launcher
'''
def body_140(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_141 = object()  # a kernel's launcher
'''
def body_141(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_142 = object()  # a kernel's launcher
'''
def body_142(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_143 = object()  # a kernel's launcher
'''
def body_143(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_144 = object()  # a kernel's launcher
'''
def body_144(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_145 = object()  # a kernel's launcher
'''
def body_145(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_146 = object()  # a kernel's launcher
'''
def body_146(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_147 = object()  # a kernel's launcher
'''
def body_147(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_148 = object()  # a kernel's launcher
'''
def body_148(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_149 = object()  # a kernel's launcher
'''
def body_149(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_150 = object()  # a kernel's launcher
'''
def body_150(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_151 = object()  # a kernel's launcher
'''
def body_151(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_152 = object()  # a kernel's launcher
'''
def body_152(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_153 = object()  # a kernel's launcher
'''
def body_153(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_154 = object()  # a kernel's launcher
'''
def body_154(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_155 = object()  # a kernel's launcher
'''
def body_155(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_156 = object()  # a kernel's launcher
'''
def body_156(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_157 = object()  # a kernel's launcher
'''
def body_157(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_158 = object()  # a kernel's launcher
'''
def body_158(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_159 = object()  # a kernel's launcher
'''
def body_159(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_160 = object()  # a kernel's launcher
'''
def body_160(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_161 = object()  # a kernel's launcher
'''
def body_161(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_162 = object()  # a kernel's launcher
'''
def body_162(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_163 = object()  # a kernel's launcher
'''
def body_163(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_164 = object()  # a kernel's launcher
'''
def body_164(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_165 = object()  # a kernel's launcher
'''
def body_165(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_166 = object()  # a kernel's launcher
'''
def body_166(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_167 = object()  # a kernel's launcher
'''
def body_167(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_168 = object()  # a kernel's launcher
'''
def body_168(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_169 = object()  # a kernel's launcher
'''
def body_169(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_170 = object()  # a kernel's launcher
'''
def body_170(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_171 = object()  # a kernel's launcher
'''
def body_171(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_172 = object()  # a kernel's launcher
'''
def body_172(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_173 = object()  # a kernel's launcher
'''
def body_173(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_174 = object()  # a kernel's launcher
'''
def body_174(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_175 = object()  # a kernel's launcher
'''
def body_175(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_176 = object()  # a kernel's launcher
'''
def body_176(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_177 = object()  # a kernel's launcher
'''
def body_177(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_178 = object()  # a kernel's launcher
'''
def body_178(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_179 = object()  # a kernel's launcher
'''
def body_179(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_180 = object()  # a kernel's launcher
'''
def body_180(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_181 = object()  # a kernel's launcher
'''
def body_181(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_182 = object()  # a kernel's launcher
'''
def body_182(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_183 = object()  # a kernel's launcher
'''
def body_183(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_184 = object()  # a kernel's launcher
'''
def body_184(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_185 = object()  # a kernel's launcher
'''
def body_185(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_186 = object()  # a kernel's launcher
'''
def body_186(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_187 = object()  # a kernel's launcher
'''
def body_187(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_188 = object()  # a kernel's launcher
'''
def body_188(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_189 = object()  # a kernel's launcher
'''
def body_189(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_190 = object()  # a kernel's launcher
'''
def body_190(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_191 = object()  # a kernel's launcher
'''
def body_191(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_192 = object()  # a kernel's launcher
'''
def body_192(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_193 = object()  # a kernel's launcher
'''
def body_193(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_194 = object()  # a kernel's launcher
'''
def body_194(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_195 = object()  # a kernel's launcher
'''
def body_195(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_196 = object()  # a kernel's launcher
'''
def body_196(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_197 = object()  # a kernel's launcher
'''
def body_197(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_198 = object()  # a kernel's launcher
'''
def body_198(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_199 = object()  # a kernel's launcher
'''
def body_199(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_200 = object()  # a kernel's launcher
'''
def body_200(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_201 = object()  # a kernel's launcher
'''
def body_201(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_202 = object()  # a kernel's launcher
'''
def body_202(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_203 = object()  # a kernel's launcher
'''
def body_203(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_204 = object()  # a kernel's launcher
'''
def body_204(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_205 = object()  # a kernel's launcher
'''
def body_205(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_206 = object()  # a kernel's launcher
'''
def body_206(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_207 = object()  # a kernel's launcher
'''
def body_207(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_208 = object()  # a kernel's launcher
'''
def body_208(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_209 = object()  # a kernel's launcher
'''
def body_209(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_210 = object()  # a kernel's launcher
'''
def body_210(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_211 = object()  # a kernel's launcher
'''
def body_211(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_212 = object()  # a kernel's launcher
'''
def body_212(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_213 = object()  # a kernel's launcher
'''
def body_213(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_214 = object()  # a kernel's launcher
'''
def body_214(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_215 = object()  # a kernel's launcher
'''
def body_215(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_216 = object()  # a kernel's launcher
'''
def body_216(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_217 = object()  # a kernel's launcher
'''
def body_217(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_218 = object()  # a kernel's launcher
'''
def body_218(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_219 = object()  # a kernel's launcher
'''
def body_219(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_220 = object()  # a kernel's launcher
'''
def body_220(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_221 = object()  # a kernel's launcher
'''
def body_221(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_222 = object()  # a kernel's launcher
'''
def body_222(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_223 = object()  # a kernel's launcher
'''
def body_223(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_224 = object()  # a kernel's launcher
'''
def body_224(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_225 = object()  # a kernel's launcher
'''
def body_225(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_226 = object()  # a kernel's launcher
'''
def body_226(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_227 = object()  # a kernel's launcher
'''
def body_227(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_228 = object()  # a kernel's launcher
'''
def body_228(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_229 = object()  # a kernel's launcher
'''
def body_229(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_230 = object()  # a kernel's launcher
'''
def body_230(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_231 = object()  # a kernel's launcher
'''
def body_231(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_232 = object()  # a kernel's launcher
'''
def body_232(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_233 = object()  # a kernel's launcher
'''
def body_233(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_234 = object()  # a kernel's launcher
'''
def body_234(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_235 = object()  # a kernel's launcher
'''
def body_235(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_236 = object()  # a kernel's launcher
'''
def body_236(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_237 = object()  # a kernel's launcher
'''
def body_237(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_238 = object()  # a kernel's launcher
'''
def body_238(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_239 = object()  # a kernel's launcher
'''
def body_239(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_240 = object()  # a kernel's launcher
'''
def body_240(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_241 = object()  # a kernel's launcher
'''
def body_241(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_242 = object()  # a kernel's launcher
'''
def body_242(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_243 = object()  # a kernel's launcher
'''
def body_243(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_244 = object()  # a kernel's launcher
'''
def body_244(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_245 = object()  # a kernel's launcher
'''
def body_245(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_246 = object()  # a kernel's launcher
'''
def body_246(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_247 = object()  # a kernel's launcher
'''
def body_247(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_248 = object()  # a kernel's launcher
'''
def body_248(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_249 = object()  # a kernel's launcher
'''
def body_249(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_250 = object()  # a kernel's launcher
'''
def body_250(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_251 = object()  # a kernel's launcher
'''
def body_251(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_252 = object()  # a kernel's launcher
'''
def body_252(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_253 = object()  # a kernel's launcher
'''
def body_253(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_254 = object()  # a kernel's launcher
'''
def body_254(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_255 = object()  # a kernel's launcher
'''
def body_255(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_256 = object()  # a kernel's launcher
'''
def body_256(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_257 = object()  # a kernel's launcher
'''
def body_257(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_258 = object()  # a kernel's launcher
'''
def body_258(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_259 = object()  # a kernel's launcher
'''
def body_259(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_260 = object()  # a kernel's launcher
'''
def body_260(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_261 = object()  # a kernel's launcher
'''
def body_261(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_262 = object()  # a kernel's launcher
'''
def body_262(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_263 = object()  # a kernel's launcher
'''
def body_263(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_264 = object()  # a kernel's launcher
'''
def body_264(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_265 = object()  # a kernel's launcher
'''
def body_265(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_266 = object()  # a kernel's launcher
'''
def body_266(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_267 = object()  # a kernel's launcher
'''
def body_267(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_268 = object()  # a kernel's launcher
'''
def body_268(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_269 = object()  # a kernel's launcher
'''
def body_269(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_270 = object()  # a kernel's launcher
'''
def body_270(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_271 = object()  # a kernel's launcher
'''
def body_271(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_272 = object()  # a kernel's launcher
'''
def body_272(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_273 = object()  # a kernel's launcher
'''
def body_273(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_274 = object()  # a kernel's launcher
'''
def body_274(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_275 = object()  # a kernel's launcher
'''
def body_275(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_276 = object()  # a kernel's launcher
'''
def body_276(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_277 = object()  # a kernel's launcher
'''
def body_277(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_278 = object()  # a kernel's launcher
'''
def body_278(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_279 = object()  # a kernel's launcher
'''
def body_279(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_280 = object()  # a kernel's launcher
'''
def body_280(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_281 = object()  # a kernel's launcher
'''
def body_281(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_282 = object()  # a kernel's launcher
'''
def body_282(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_283 = object()  # a kernel's launcher
'''
def body_283(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_284 = object()  # a kernel's launcher
'''
def body_284(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_285 = object()  # a kernel's launcher
'''
def body_285(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_286 = object()  # a kernel's launcher
'''
def body_286(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_287 = object()  # a kernel's launcher
'''
def body_287(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_288 = object()  # a kernel's launcher
'''
def body_288(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_289 = object()  # a kernel's launcher
'''
def body_289(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_290 = object()  # a kernel's launcher
'''
def body_290(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_291 = object()  # a kernel's launcher
'''
def body_291(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_292 = object()  # a kernel's launcher
'''
def body_292(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_293 = object()  # a kernel's launcher
'''
def body_293(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_294 = object()  # a kernel's launcher
'''
def body_294(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_295 = object()  # a kernel's launcher
'''
def body_295(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_296 = object()  # a kernel's launcher
'''
def body_296(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_297 = object()  # a kernel's launcher
'''
def body_297(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_298 = object()  # a kernel's launcher
'''
def body_298(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_299 = object()  # a kernel's launcher
'''
def body_299(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_300 = object()  # a kernel's launcher
'''
def body_300(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_301 = object()  # a kernel's launcher
'''
def body_301(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_302 = object()  # a kernel's launcher
'''
def body_302(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_303 = object()  # a kernel's launcher
'''
def body_303(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_304 = object()  # a kernel's launcher
'''
def body_304(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_305 = object()  # a kernel's launcher
'''
def body_305(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_306 = object()  # a kernel's launcher
'''
def body_306(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_307 = object()  # a kernel's launcher
'''
def body_307(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_308 = object()  # a kernel's launcher
'''
def body_308(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_309 = object()  # a kernel's launcher
'''
def body_309(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_310 = object()  # a kernel's launcher
'''
def body_310(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_311 = object()  # a kernel's launcher
'''
def body_311(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_312 = object()  # a kernel's launcher
'''
def body_312(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_313 = object()  # a kernel's launcher
'''
def body_313(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_314 = object()  # a kernel's launcher
'''
def body_314(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_315 = object()  # a kernel's launcher
'''
def body_315(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_316 = object()  # a kernel's launcher
'''
def body_316(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_317 = object()  # a kernel's launcher
'''
def body_317(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_318 = object()  # a kernel's launcher
'''
def body_318(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_319 = object()  # a kernel's launcher
'''
def body_319(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_320 = object()  # a kernel's launcher
'''
def body_320(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_321 = object()  # a kernel's launcher
'''
def body_321(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_322 = object()  # a kernel's launcher
'''
def body_322(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_323 = object()  # a kernel's launcher
'''
def body_323(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_324 = object()  # a kernel's launcher
'''
def body_324(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_325 = object()  # a kernel's launcher
'''
def body_325(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_326 = object()  # a kernel's launcher
'''
def body_326(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_327 = object()  # a kernel's launcher
'''
def body_327(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_328 = object()  # a kernel's launcher
'''
def body_328(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_329 = object()  # a kernel's launcher
'''
def body_329(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_330 = object()  # a kernel's launcher
'''
def body_330(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_331 = object()  # a kernel's launcher
'''
def body_331(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_332 = object()  # a kernel's launcher
'''
def body_332(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_333 = object()  # a kernel's launcher
'''
def body_333(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_334 = object()  # a kernel's launcher
'''
def body_334(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_335 = object()  # a kernel's launcher
'''
def body_335(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_336 = object()  # a kernel's launcher
'''
def body_336(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_337 = object()  # a kernel's launcher
'''
def body_337(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_338 = object()  # a kernel's launcher
'''
def body_338(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_339 = object()  # a kernel's launcher
'''
def body_339(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_340 = object()  # a kernel's launcher
'''
def body_340(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_341 = object()  # a kernel's launcher
'''
def body_341(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_342 = object()  # a kernel's launcher
'''
def body_342(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_343 = object()  # a kernel's launcher
'''
def body_343(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_344 = object()  # a kernel's launcher
'''
def body_344(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_345 = object()  # a kernel's launcher
'''
def body_345(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_346 = object()  # a kernel's launcher
'''
def body_346(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_347 = object()  # a kernel's launcher
'''
def body_347(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_348 = object()  # a kernel's launcher
'''
def body_348(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_349 = object()  # a kernel's launcher
'''
def body_349(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_350 = object()  # a kernel's launcher
'''
def body_350(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_351 = object()  # a kernel's launcher
'''
def body_351(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_352 = object()  # a kernel's launcher
'''
def body_352(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_353 = object()  # a kernel's launcher
'''
def body_353(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_354 = object()  # a kernel's launcher
'''
def body_354(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_355 = object()  # a kernel's launcher
'''
def body_355(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_356 = object()  # a kernel's launcher
'''
def body_356(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_357 = object()  # a kernel's launcher
'''
def body_357(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_358 = object()  # a kernel's launcher
'''
def body_358(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_359 = object()  # a kernel's launcher
'''
def body_359(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_360 = object()  # a kernel's launcher
'''
def body_360(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_361 = object()  # a kernel's launcher
'''
def body_361(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_362 = object()  # a kernel's launcher
'''
def body_362(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_363 = object()  # a kernel's launcher
'''
def body_363(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_364 = object()  # a kernel's launcher
'''
def body_364(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_365 = object()  # a kernel's launcher
'''
def body_365(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_366 = object()  # a kernel's launcher
'''
def body_366(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_367 = object()  # a kernel's launcher
'''
def body_367(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_368 = object()  # a kernel's launcher
'''
def body_368(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_369 = object()  # a kernel's launcher
'''
def body_369(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_370 = object()  # a kernel's launcher
'''
def body_370(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_371 = object()  # a kernel's launcher
'''
def body_371(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_372 = object()  # a kernel's launcher
'''
def body_372(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_373 = object()  # a kernel's launcher
'''
def body_373(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_374 = object()  # a kernel's launcher
'''
def body_374(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_375 = object()  # a kernel's launcher
'''
def body_375(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_376 = object()  # a kernel's launcher
'''
def body_376(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_377 = object()  # a kernel's launcher
'''
def body_377(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_378 = object()  # a kernel's launcher
'''
def body_378(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_379 = object()  # a kernel's launcher
'''
def body_379(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_380 = object()  # a kernel's launcher
'''
def body_380(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_381 = object()  # a kernel's launcher
'''
def body_381(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_382 = object()  # a kernel's launcher
'''
def body_382(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_383 = object()  # a kernel's launcher
'''
def body_383(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_384 = object()  # a kernel's launcher
'''
def body_384(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_385 = object()  # a kernel's launcher
'''
def body_385(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_386 = object()  # a kernel's launcher
'''
def body_386(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_387 = object()  # a kernel's launcher
'''
def body_387(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_388 = object()  # a kernel's launcher
'''
def body_388(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_389 = object()  # a kernel's launcher
'''
def body_389(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_390 = object()  # a kernel's launcher
'''
def body_390(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_391 = object()  # a kernel's launcher
'''
def body_391(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_392 = object()  # a kernel's launcher
'''
def body_392(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_393 = object()  # a kernel's launcher
'''
def body_393(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_394 = object()  # a kernel's launcher
'''
def body_394(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_395 = object()  # a kernel's launcher
'''
def body_395(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_396 = object()  # a kernel's launcher
'''
def body_396(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_397 = object()  # a kernel's launcher
'''
def body_397(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_398 = object()  # a kernel's launcher
'''
def body_398(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_399 = object()  # a kernel's launcher
'''
def body_399(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_400 = object()  # a kernel's launcher
'''
def body_400(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_401 = object()  # a kernel's launcher
'''
def body_401(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_402 = object()  # a kernel's launcher
'''
def body_402(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_403 = object()  # a kernel's launcher
'''
def body_403(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_404 = object()  # a kernel's launcher
'''
def body_404(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_405 = object()  # a kernel's launcher
'''
def body_405(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_406 = object()  # a kernel's launcher
'''
def body_406(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_407 = object()  # a kernel's launcher
'''
def body_407(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_408 = object()  # a kernel's launcher
'''
def body_408(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_409 = object()  # a kernel's launcher
'''
def body_409(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_410 = object()  # a kernel's launcher
'''
def body_410(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_411 = object()  # a kernel's launcher
'''
def body_411(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_412 = object()  # a kernel's launcher
'''
def body_412(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_413 = object()  # a kernel's launcher
'''
def body_413(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_414 = object()  # a kernel's launcher
'''
def body_414(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_415 = object()  # a kernel's launcher
'''
def body_415(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_416 = object()  # a kernel's launcher
'''
def body_416(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_417 = object()  # a kernel's launcher
'''
def body_417(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_418 = object()  # a kernel's launcher
'''
def body_418(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_419 = object()  # a kernel's launcher
'''
def body_419(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_420 = object()  # a kernel's launcher
'''
def body_420(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_421 = object()  # a kernel's launcher
'''
def body_421(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_422 = object()  # a kernel's launcher
'''
def body_422(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_423 = object()  # a kernel's launcher
'''
def body_423(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_424 = object()  # a kernel's launcher
'''
def body_424(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_425 = object()  # a kernel's launcher
'''
def body_425(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_426 = object()  # a kernel's launcher
'''
def body_426(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_427 = object()  # a kernel's launcher
'''
def body_427(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_428 = object()  # a kernel's launcher
'''
def body_428(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_429 = object()  # a kernel's launcher
'''
def body_429(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_430 = object()  # a kernel's launcher
'''
def body_430(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_431 = object()  # a kernel's launcher
'''
def body_431(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_432 = object()  # a kernel's launcher
'''
def body_432(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_433 = object()  # a kernel's launcher
'''
def body_433(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_434 = object()  # a kernel's launcher
'''
def body_434(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_435 = object()  # a kernel's launcher
'''
def body_435(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_436 = object()  # a kernel's launcher
'''
def body_436(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_437 = object()  # a kernel's launcher
'''
def body_437(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_438 = object()  # a kernel's launcher
'''
def body_438(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_439 = object()  # a kernel's launcher
'''
def body_439(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_440 = object()  # a kernel's launcher
'''
def body_440(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_441 = object()  # a kernel's launcher
'''
def body_441(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_442 = object()  # a kernel's launcher
'''
def body_442(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_443 = object()  # a kernel's launcher
'''
def body_443(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_444 = object()  # a kernel's launcher
'''
def body_444(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_445 = object()  # a kernel's launcher
'''
def body_445(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_446 = object()  # a kernel's launcher
'''
def body_446(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_447 = object()  # a kernel's launcher
'''
def body_447(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_448 = object()  # a kernel's launcher
'''
def body_448(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_449 = object()  # a kernel's launcher
'''
def body_449(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_450 = object()  # a kernel's launcher
'''
def body_450(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_451 = object()  # a kernel's launcher
'''
def body_451(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_452 = object()  # a kernel's launcher
'''
def body_452(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_453 = object()  # a kernel's launcher
'''
def body_453(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_454 = object()  # a kernel's launcher
'''
def body_454(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_455 = object()  # a kernel's launcher
'''
def body_455(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_456 = object()  # a kernel's launcher
'''
def body_456(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_457 = object()  # a kernel's launcher
'''
def body_457(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_458 = object()  # a kernel's launcher
'''
def body_458(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_459 = object()  # a kernel's launcher
'''
def body_459(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_460 = object()  # a kernel's launcher
'''
def body_460(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_461 = object()  # a kernel's launcher
'''
def body_461(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_462 = object()  # a kernel's launcher
'''
def body_462(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_463 = object()  # a kernel's launcher
'''
def body_463(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_464 = object()  # a kernel's launcher
'''
def body_464(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_465 = object()  # a kernel's launcher
'''
def body_465(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_466 = object()  # a kernel's launcher
'''
def body_466(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_467 = object()  # a kernel's launcher
'''
def body_467(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_468 = object()  # a kernel's launcher
'''
def body_468(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_469 = object()  # a kernel's launcher
'''
def body_469(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_470 = object()  # a kernel's launcher
'''
def body_470(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_471 = object()  # a kernel's launcher
'''
def body_471(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_472 = object()  # a kernel's launcher
'''
def body_472(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_473 = object()  # a kernel's launcher
'''
def body_473(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_474 = object()  # a kernel's launcher
'''
def body_474(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_475 = object()  # a kernel's launcher
'''
def body_475(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_476 = object()  # a kernel's launcher
'''
def body_476(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_477 = object()  # a kernel's launcher
'''
def body_477(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_478 = object()  # a kernel's launcher
'''
def body_478(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_479 = object()  # a kernel's launcher
'''
def body_479(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_480 = object()  # a kernel's launcher
'''
def body_480(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_481 = object()  # a kernel's launcher
'''
def body_481(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_482 = object()  # a kernel's launcher
'''
def body_482(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_483 = object()  # a kernel's launcher
'''
def body_483(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_484 = object()  # a kernel's launcher
'''
def body_484(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_485 = object()  # a kernel's launcher
'''
def body_485(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_486 = object()  # a kernel's launcher
'''
def body_486(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_487 = object()  # a kernel's launcher
'''
def body_487(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_488 = object()  # a kernel's launcher
'''
def body_488(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_489 = object()  # a kernel's launcher
'''
def body_489(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_490 = object()  # a kernel's launcher
'''
def body_490(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_491 = object()  # a kernel's launcher
'''
def body_491(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_492 = object()  # a kernel's launcher
'''
def body_492(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_493 = object()  # a kernel's launcher
'''
def body_493(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_494 = object()  # a kernel's launcher
'''
def body_494(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_495 = object()  # a kernel's launcher
'''
def body_495(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_496 = object()  # a kernel's launcher
'''
def body_496(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_497 = object()  # a kernel's launcher
'''
def body_497(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_498 = object()  # a kernel's launcher
'''
def body_498(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_499 = object()  # a kernel's launcher
'''
def body_499(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_500 = object()  # a kernel's launcher
'''
def body_500(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_501 = object()  # a kernel's launcher
'''
def body_501(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_502 = object()  # a kernel's launcher
'''
def body_502(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_503 = object()  # a kernel's launcher
'''
def body_503(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_504 = object()  # a kernel's launcher
'''
def body_504(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_505 = object()  # a kernel's launcher
'''
def body_505(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_506 = object()  # a kernel's launcher
'''
def body_506(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_507 = object()  # a kernel's launcher
'''
def body_507(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_508 = object()  # a kernel's launcher
'''
def body_508(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_509 = object()  # a kernel's launcher
'''
def body_509(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_510 = object()  # a kernel's launcher
'''
def body_510(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_511 = object()  # a kernel's launcher
'''
def body_511(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_512 = object()  # a kernel's launcher
'''
def body_512(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_513 = object()  # a kernel's launcher
'''
def body_513(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_514 = object()  # a kernel's launcher
'''
def body_514(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_515 = object()  # a kernel's launcher
'''
def body_515(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_516 = object()  # a kernel's launcher
'''
def body_516(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_517 = object()  # a kernel's launcher
'''
def body_517(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_518 = object()  # a kernel's launcher
'''
def body_518(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_519 = object()  # a kernel's launcher
'''
def body_519(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_520 = object()  # a kernel's launcher
'''
def body_520(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_521 = object()  # a kernel's launcher
'''
def body_521(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_522 = object()  # a kernel's launcher
'''
def body_522(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_523 = object()  # a kernel's launcher
'''
def body_523(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_524 = object()  # a kernel's launcher
'''
def body_524(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_525 = object()  # a kernel's launcher
'''
def body_525(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_526 = object()  # a kernel's launcher
'''
def body_526(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_527 = object()  # a kernel's launcher
'''
def body_527(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_528 = object()  # a kernel's launcher
'''
def body_528(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_529 = object()  # a kernel's launcher
'''
def body_529(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_530 = object()  # a kernel's launcher
'''
def body_530(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_531 = object()  # a kernel's launcher
'''
def body_531(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_532 = object()  # a kernel's launcher
'''
def body_532(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_533 = object()  # a kernel's launcher
'''
def body_533(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_534 = object()  # a kernel's launcher
'''
def body_534(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_535 = object()  # a kernel's launcher
'''
def body_535(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_536 = object()  # a kernel's launcher
'''
def body_536(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_537 = object()  # a kernel's launcher
'''
def body_537(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_538 = object()  # a kernel's launcher
'''
def body_538(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_539 = object()  # a kernel's launcher
'''
def body_539(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_540 = object()  # a kernel's launcher
'''
def body_540(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_541 = object()  # a kernel's launcher
'''
def body_541(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_542 = object()  # a kernel's launcher
'''
def body_542(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_543 = object()  # a kernel's launcher
'''
def body_543(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_544 = object()  # a kernel's launcher
'''
def body_544(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_545 = object()  # a kernel's launcher
'''
def body_545(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_546 = object()  # a kernel's launcher
'''
def body_546(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_547 = object()  # a kernel's launcher
'''
def body_547(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_548 = object()  # a kernel's launcher
'''
def body_548(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_549 = object()  # a kernel's launcher
'''
def body_549(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_550 = object()  # a kernel's launcher
'''
def body_550(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_551 = object()  # a kernel's launcher
'''
def body_551(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_552 = object()  # a kernel's launcher
'''
def body_552(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_553 = object()  # a kernel's launcher
'''
def body_553(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_554 = object()  # a kernel's launcher
'''
def body_554(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_555 = object()  # a kernel's launcher
'''
def body_555(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_556 = object()  # a kernel's launcher
'''
def body_556(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_557 = object()  # a kernel's launcher
'''
def body_557(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_558 = object()  # a kernel's launcher
'''
def body_558(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_559 = object()  # a kernel's launcher
'''
def body_559(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_560 = object()  # a kernel's launcher
'''
def body_560(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_561 = object()  # a kernel's launcher
'''
def body_561(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_562 = object()  # a kernel's launcher
'''
def body_562(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_563 = object()  # a kernel's launcher
'''
def body_563(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_564 = object()  # a kernel's launcher
'''
def body_564(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_565 = object()  # a kernel's launcher
'''
def body_565(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_566 = object()  # a kernel's launcher
'''
def body_566(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_567 = object()  # a kernel's launcher
'''
def body_567(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_568 = object()  # a kernel's launcher
'''
def body_568(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_569 = object()  # a kernel's launcher
'''
def body_569(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_570 = object()  # a kernel's launcher
'''
def body_570(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_571 = object()  # a kernel's launcher
'''
def body_571(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_572 = object()  # a kernel's launcher
'''
def body_572(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_573 = object()  # a kernel's launcher
'''
def body_573(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_574 = object()  # a kernel's launcher
'''
def body_574(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_575 = object()  # a kernel's launcher
'''
def body_575(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_576 = object()  # a kernel's launcher
'''
def body_576(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_577 = object()  # a kernel's launcher
'''
def body_577(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_578 = object()  # a kernel's launcher
'''
def body_578(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_579 = object()  # a kernel's launcher
'''
def body_579(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_580 = object()  # a kernel's launcher
'''
def body_580(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_581 = object()  # a kernel's launcher
'''
def body_581(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_582 = object()  # a kernel's launcher
'''
def body_582(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_583 = object()  # a kernel's launcher
'''
def body_583(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_584 = object()  # a kernel's launcher
'''
def body_584(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_585 = object()  # a kernel's launcher
'''
def body_585(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_586 = object()  # a kernel's launcher
'''
def body_586(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_587 = object()  # a kernel's launcher
'''
def body_587(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_588 = object()  # a kernel's launcher
'''
def body_588(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_589 = object()  # a kernel's launcher
'''
def body_589(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_590 = object()  # a kernel's launcher
'''
def body_590(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_591 = object()  # a kernel's launcher
'''
def body_591(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_592 = object()  # a kernel's launcher
'''
def body_592(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_593 = object()  # a kernel's launcher
'''
def body_593(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_594 = object()  # a kernel's launcher
'''
def body_594(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_595 = object()  # a kernel's launcher
'''
def body_595(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_596 = object()  # a kernel's launcher
'''
def body_596(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_597 = object()  # a kernel's launcher
'''
def body_597(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_598 = object()  # a kernel's launcher
'''
def body_598(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_599 = object()  # a kernel's launcher
'''
def body_599(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_600 = object()  # a kernel's launcher
'''
def body_600(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_601 = object()  # a kernel's launcher
'''
def body_601(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_602 = object()  # a kernel's launcher
'''
def body_602(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_603 = object()  # a kernel's launcher
'''
def body_603(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_604 = object()  # a kernel's launcher
'''
def body_604(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_605 = object()  # a kernel's launcher
'''
def body_605(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_606 = object()  # a kernel's launcher
'''
def body_606(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_607 = object()  # a kernel's launcher
'''
def body_607(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_608 = object()  # a kernel's launcher
'''
def body_608(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_609 = object()  # a kernel's launcher
'''
def body_609(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_610 = object()  # a kernel's launcher
'''
def body_610(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_611 = object()  # a kernel's launcher
'''
def body_611(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_612 = object()  # a kernel's launcher
'''
def body_612(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_613 = object()  # a kernel's launcher
'''
def body_613(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_614 = object()  # a kernel's launcher
'''
def body_614(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_615 = object()  # a kernel's launcher
'''
def body_615(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_616 = object()  # a kernel's launcher
'''
def body_616(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_617 = object()  # a kernel's launcher
'''
def body_617(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_618 = object()  # a kernel's launcher
'''
def body_618(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_619 = object()  # a kernel's launcher
'''
def body_619(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_620 = object()  # a kernel's launcher
'''
def body_620(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_621 = object()  # a kernel's launcher
'''
def body_621(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_622 = object()  # a kernel's launcher
'''
def body_622(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_623 = object()  # a kernel's launcher
'''
def body_623(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_624 = object()  # a kernel's launcher
'''
def body_624(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_625 = object()  # a kernel's launcher
'''
def body_625(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_626 = object()  # a kernel's launcher
'''
def body_626(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_627 = object()  # a kernel's launcher
'''
def body_627(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_628 = object()  # a kernel's launcher
'''
def body_628(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_629 = object()  # a kernel's launcher
'''
def body_629(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_630 = object()  # a kernel's launcher
'''
def body_630(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_631 = object()  # a kernel's launcher
'''
def body_631(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_632 = object()  # a kernel's launcher
'''
def body_632(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_633 = object()  # a kernel's launcher
'''
def body_633(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_634 = object()  # a kernel's launcher
'''
def body_634(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_635 = object()  # a kernel's launcher
'''
def body_635(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_636 = object()  # a kernel's launcher
'''
def body_636(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_637 = object()  # a kernel's launcher
'''
def body_637(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_638 = object()  # a kernel's launcher
'''
def body_638(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_639 = object()  # a kernel's launcher
'''
def body_639(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_640 = object()  # a kernel's launcher
'''
def body_640(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_641 = object()  # a kernel's launcher
'''
def body_641(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_642 = object()  # a kernel's launcher
'''
def body_642(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_643 = object()  # a kernel's launcher
'''
def body_643(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_644 = object()  # a kernel's launcher
'''
def body_644(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_645 = object()  # a kernel's launcher
'''
def body_645(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_646 = object()  # a kernel's launcher
'''
def body_646(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_647 = object()  # a kernel's launcher
'''
def body_647(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_648 = object()  # a kernel's launcher
'''
def body_648(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_649 = object()  # a kernel's launcher
'''
def body_649(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_650 = object()  # a kernel's launcher
'''
def body_650(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_651 = object()  # a kernel's launcher
'''
def body_651(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_652 = object()  # a kernel's launcher
'''
def body_652(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_653 = object()  # a kernel's launcher
'''
def body_653(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_654 = object()  # a kernel's launcher
'''
def body_654(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_655 = object()  # a kernel's launcher
'''
def body_655(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_656 = object()  # a kernel's launcher
'''
def body_656(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_657 = object()  # a kernel's launcher
'''
def body_657(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_658 = object()  # a kernel's launcher
'''
def body_658(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_659 = object()  # a kernel's launcher
'''
def body_659(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_660 = object()  # a kernel's launcher
'''
def body_660(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_661 = object()  # a kernel's launcher
'''
def body_661(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_662 = object()  # a kernel's launcher
'''
def body_662(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_663 = object()  # a kernel's launcher
'''
def body_663(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_664 = object()  # a kernel's launcher
'''
def body_664(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_665 = object()  # a kernel's launcher
'''
def body_665(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_666 = object()  # a kernel's launcher
'''
def body_666(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_667 = object()  # a kernel's launcher
'''
def body_667(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_668 = object()  # a kernel's launcher
'''
def body_668(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_669 = object()  # a kernel's launcher
'''
def body_669(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_670 = object()  # a kernel's launcher
'''
def body_670(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_671 = object()  # a kernel's launcher
'''
def body_671(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_672 = object()  # a kernel's launcher
'''
def body_672(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_673 = object()  # a kernel's launcher
'''
def body_673(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_674 = object()  # a kernel's launcher
'''
def body_674(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_675 = object()  # a kernel's launcher
'''
def body_675(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_676 = object()  # a kernel's launcher
'''
def body_676(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_677 = object()  # a kernel's launcher
'''
def body_677(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_678 = object()  # a kernel's launcher
'''
def body_678(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_679 = object()  # a kernel's launcher
'''
def body_679(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_680 = object()  # a kernel's launcher
'''
def body_680(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_681 = object()  # a kernel's launcher
'''
def body_681(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_682 = object()  # a kernel's launcher
'''
def body_682(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_683 = object()  # a kernel's launcher
'''
def body_683(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_684 = object()  # a kernel's launcher
'''
def body_684(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_685 = object()  # a kernel's launcher
'''
def body_685(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_686 = object()  # a kernel's launcher
'''
def body_686(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_687 = object()  # a kernel's launcher
'''
def body_687(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_688 = object()  # a kernel's launcher
'''
def body_688(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_689 = object()  # a kernel's launcher
'''
def body_689(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_690 = object()  # a kernel's launcher
'''
def body_690(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_691 = object()  # a kernel's launcher
'''
def body_691(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_692 = object()  # a kernel's launcher
'''
def body_692(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_693 = object()  # a kernel's launcher
'''
def body_693(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_694 = object()  # a kernel's launcher
'''
def body_694(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_695 = object()  # a kernel's launcher
'''
def body_695(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_696 = object()  # a kernel's launcher
'''
def body_696(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_697 = object()  # a kernel's launcher
'''
def body_697(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_698 = object()  # a kernel's launcher
'''
def body_698(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_699 = object()  # a kernel's launcher
'''
def body_699(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_700 = object()  # a kernel's launcher
'''
def body_700(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_701 = object()  # a kernel's launcher
'''
def body_701(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_702 = object()  # a kernel's launcher
'''
def body_702(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_703 = object()  # a kernel's launcher
'''
def body_703(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_704 = object()  # a kernel's launcher
'''
def body_704(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_705 = object()  # a kernel's launcher
'''
def body_705(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_706 = object()  # a kernel's launcher
'''
def body_706(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_707 = object()  # a kernel's launcher
'''
def body_707(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_708 = object()  # a kernel's launcher
'''
def body_708(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_709 = object()  # a kernel's launcher
'''
def body_709(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_710 = object()  # a kernel's launcher
'''
def body_710(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_711 = object()  # a kernel's launcher
'''
def body_711(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_712 = object()  # a kernel's launcher
'''
def body_712(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_713 = object()  # a kernel's launcher
'''
def body_713(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_714 = object()  # a kernel's launcher
'''
def body_714(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_715 = object()  # a kernel's launcher
'''
def body_715(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_716 = object()  # a kernel's launcher
'''
def body_716(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_717 = object()  # a kernel's launcher
'''
def body_717(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_718 = object()  # a kernel's launcher
'''
def body_718(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_719 = object()  # a kernel's launcher
'''
def body_719(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_720 = object()  # a kernel's launcher
'''
def body_720(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_721 = object()  # a kernel's launcher
'''
def body_721(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_722 = object()  # a kernel's launcher
'''
def body_722(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_723 = object()  # a kernel's launcher
'''
def body_723(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_724 = object()  # a kernel's launcher
'''
def body_724(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_725 = object()  # a kernel's launcher
'''
def body_725(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_726 = object()  # a kernel's launcher
'''
def body_726(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_727 = object()  # a kernel's launcher
'''
def body_727(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_728 = object()  # a kernel's launcher
'''
def body_728(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_729 = object()  # a kernel's launcher
'''
def body_729(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_730 = object()  # a kernel's launcher
'''
def body_730(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_731 = object()  # a kernel's launcher
'''
def body_731(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_732 = object()  # a kernel's launcher
'''
def body_732(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_733 = object()  # a kernel's launcher
'''
def body_733(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_734 = object()  # a kernel's launcher
'''
def body_734(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_735 = object()  # a kernel's launcher
'''
def body_735(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_736 = object()  # a kernel's launcher
'''
def body_736(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_737 = object()  # a kernel's launcher
'''
def body_737(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_738 = object()  # a kernel's launcher
'''
def body_738(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_739 = object()  # a kernel's launcher
'''
def body_739(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_740 = object()  # a kernel's launcher
'''
def body_740(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_741 = object()  # a kernel's launcher
'''
def body_741(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_742 = object()  # a kernel's launcher
'''
def body_742(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_743 = object()  # a kernel's launcher
'''
def body_743(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_744 = object()  # a kernel's launcher
'''
def body_744(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_745 = object()  # a kernel's launcher
'''
def body_745(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_746 = object()  # a kernel's launcher
'''
def body_746(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_747 = object()  # a kernel's launcher
'''
def body_747(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_748 = object()  # a kernel's launcher
'''
def body_748(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_749 = object()  # a kernel's launcher
'''
def body_749(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_750 = object()  # a kernel's launcher
'''
def body_750(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_751 = object()  # a kernel's launcher
'''
def body_751(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_752 = object()  # a kernel's launcher
'''
def body_752(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_753 = object()  # a kernel's launcher
'''
def body_753(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_754 = object()  # a kernel's launcher
'''
def body_754(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_755 = object()  # a kernel's launcher
'''
def body_755(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_756 = object()  # a kernel's launcher
'''
def body_756(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_757 = object()  # a kernel's launcher
'''
def body_757(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_758 = object()  # a kernel's launcher
'''
def body_758(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_759 = object()  # a kernel's launcher
'''
def body_759(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_760 = object()  # a kernel's launcher
'''
def body_760(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_761 = object()  # a kernel's launcher
'''
def body_761(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_762 = object()  # a kernel's launcher
'''
def body_762(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_763 = object()  # a kernel's launcher
'''
def body_763(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_764 = object()  # a kernel's launcher
'''
def body_764(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_765 = object()  # a kernel's launcher
'''
def body_765(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_766 = object()  # a kernel's launcher
'''
def body_766(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_767 = object()  # a kernel's launcher
'''
def body_767(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_768 = object()  # a kernel's launcher
'''
def body_768(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_769 = object()  # a kernel's launcher
'''
def body_769(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_770 = object()  # a kernel's launcher
'''
def body_770(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_771 = object()  # a kernel's launcher
'''
def body_771(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_772 = object()  # a kernel's launcher
'''
def body_772(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_773 = object()  # a kernel's launcher
'''
def body_773(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_774 = object()  # a kernel's launcher
'''
def body_774(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_775 = object()  # a kernel's launcher
'''
def body_775(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_776 = object()  # a kernel's launcher
'''
def body_776(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_777 = object()  # a kernel's launcher
'''
def body_777(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_778 = object()  # a kernel's launcher
'''
def body_778(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_779 = object()  # a kernel's launcher
'''
def body_779(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_780 = object()  # a kernel's launcher
'''
def body_780(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_781 = object()  # a kernel's launcher
'''
def body_781(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_782 = object()  # a kernel's launcher
'''
def body_782(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_783 = object()  # a kernel's launcher
'''
def body_783(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_784 = object()  # a kernel's launcher
'''
def body_784(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_785 = object()  # a kernel's launcher
'''
def body_785(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_786 = object()  # a kernel's launcher
'''
def body_786(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_787 = object()  # a kernel's launcher
'''
def body_787(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_788 = object()  # a kernel's launcher
'''
def body_788(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_789 = object()  # a kernel's launcher
'''
def body_789(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_790 = object()  # a kernel's launcher
'''
def body_790(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_791 = object()  # a kernel's launcher
'''
def body_791(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_792 = object()  # a kernel's launcher
'''
def body_792(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_793 = object()  # a kernel's launcher
'''
def body_793(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_794 = object()  # a kernel's launcher
'''
def body_794(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_795 = object()  # a kernel's launcher
'''
def body_795(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_796 = object()  # a kernel's launcher
'''
def body_796(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_797 = object()  # a kernel's launcher
'''
def body_797(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_798 = object()  # a kernel's launcher
'''
def body_798(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_799 = object()  # a kernel's launcher
'''
def body_799(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_800 = object()  # a kernel's launcher
'''
def body_800(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_801 = object()  # a kernel's launcher
'''
def body_801(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_802 = object()  # a kernel's launcher
'''
def body_802(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_803 = object()  # a kernel's launcher
'''
def body_803(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_804 = object()  # a kernel's launcher
'''
def body_804(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_805 = object()  # a kernel's launcher
'''
def body_805(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_806 = object()  # a kernel's launcher
'''
def body_806(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_807 = object()  # a kernel's launcher
'''
def body_807(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_808 = object()  # a kernel's launcher
'''
def body_808(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_809 = object()  # a kernel's launcher
'''
def body_809(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_810 = object()  # a kernel's launcher
'''
def body_810(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_811 = object()  # a kernel's launcher
'''
def body_811(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_812 = object()  # a kernel's launcher
'''
def body_812(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_813 = object()  # a kernel's launcher
'''
def body_813(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_814 = object()  # a kernel's launcher
'''
def body_814(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_815 = object()  # a kernel's launcher
'''
def body_815(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_816 = object()  # a kernel's launcher
'''
def body_816(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_817 = object()  # a kernel's launcher
'''
def body_817(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_818 = object()  # a kernel's launcher
'''
def body_818(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_819 = object()  # a kernel's launcher
'''
def body_819(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_820 = object()  # a kernel's launcher
'''
def body_820(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_821 = object()  # a kernel's launcher
'''
def body_821(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_822 = object()  # a kernel's launcher
'''
def body_822(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_823 = object()  # a kernel's launcher
'''
def body_823(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_824 = object()  # a kernel's launcher
'''
def body_824(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_825 = object()  # a kernel's launcher
'''
def body_825(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_826 = object()  # a kernel's launcher
'''
def body_826(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_827 = object()  # a kernel's launcher
'''
def body_827(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_828 = object()  # a kernel's launcher
'''
def body_828(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_829 = object()  # a kernel's launcher
'''
def body_829(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_830 = object()  # a kernel's launcher
'''
def body_830(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_831 = object()  # a kernel's launcher
'''
def body_831(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_832 = object()  # a kernel's launcher
'''
def body_832(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_833 = object()  # a kernel's launcher
'''
def body_833(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_834 = object()  # a kernel's launcher
'''
def body_834(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_835 = object()  # a kernel's launcher
'''
def body_835(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_836 = object()  # a kernel's launcher
'''
def body_836(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_837 = object()  # a kernel's launcher
'''
def body_837(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_838 = object()  # a kernel's launcher
'''
def body_838(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_839 = object()  # a kernel's launcher
'''
def body_839(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_840 = object()  # a kernel's launcher
'''
def body_840(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_841 = object()  # a kernel's launcher
'''
def body_841(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_842 = object()  # a kernel's launcher
'''
def body_842(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_843 = object()  # a kernel's launcher
'''
def body_843(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_844 = object()  # a kernel's launcher
'''
def body_844(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_845 = object()  # a kernel's launcher
'''
def body_845(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_846 = object()  # a kernel's launcher
'''
def body_846(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_847 = object()  # a kernel's launcher
'''
def body_847(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_848 = object()  # a kernel's launcher
'''
def body_848(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_849 = object()  # a kernel's launcher
'''
def body_849(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_850 = object()  # a kernel's launcher
'''
def body_850(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_851 = object()  # a kernel's launcher
'''
def body_851(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_852 = object()  # a kernel's launcher
'''
def body_852(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_853 = object()  # a kernel's launcher
'''
def body_853(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_854 = object()  # a kernel's launcher
'''
def body_854(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_855 = object()  # a kernel's launcher
'''
def body_855(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_856 = object()  # a kernel's launcher
'''
def body_856(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_857 = object()  # a kernel's launcher
'''
def body_857(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_858 = object()  # a kernel's launcher
'''
def body_858(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_859 = object()  # a kernel's launcher
'''
def body_859(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_860 = object()  # a kernel's launcher
'''
def body_860(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_861 = object()  # a kernel's launcher
'''
def body_861(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_862 = object()  # a kernel's launcher
'''
def body_862(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_863 = object()  # a kernel's launcher
'''
def body_863(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_864 = object()  # a kernel's launcher
'''
def body_864(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_865 = object()  # a kernel's launcher
'''
def body_865(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_866 = object()  # a kernel's launcher
'''
def body_866(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_867 = object()  # a kernel's launcher
'''
def body_867(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_868 = object()  # a kernel's launcher
'''
def body_868(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_869 = object()  # a kernel's launcher
'''
def body_869(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_870 = object()  # a kernel's launcher
'''
def body_870(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_871 = object()  # a kernel's launcher
'''
def body_871(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_872 = object()  # a kernel's launcher
'''
def body_872(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_873 = object()  # a kernel's launcher
'''
def body_873(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_874 = object()  # a kernel's launcher
'''
def body_874(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_875 = object()  # a kernel's launcher
'''
def body_875(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_876 = object()  # a kernel's launcher
'''
def body_876(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_877 = object()  # a kernel's launcher
'''
def body_877(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_878 = object()  # a kernel's launcher
'''
def body_878(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_879 = object()  # a kernel's launcher
'''
def body_879(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_880 = object()  # a kernel's launcher
'''
def body_880(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_881 = object()  # a kernel's launcher
'''
def body_881(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_882 = object()  # a kernel's launcher
'''
def body_882(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_883 = object()  # a kernel's launcher
'''
def body_883(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_884 = object()  # a kernel's launcher
'''
def body_884(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_885 = object()  # a kernel's launcher
'''
def body_885(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_886 = object()  # a kernel's launcher
'''
def body_886(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_887 = object()  # a kernel's launcher
'''
def body_887(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_888 = object()  # a kernel's launcher
'''
def body_888(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_889 = object()  # a kernel's launcher
'''
def body_889(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_890 = object()  # a kernel's launcher
'''
def body_890(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_891 = object()  # a kernel's launcher
'''
def body_891(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_892 = object()  # a kernel's launcher
'''
def body_892(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_893 = object()  # a kernel's launcher
'''
def body_893(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_894 = object()  # a kernel's launcher
'''
def body_894(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_895 = object()  # a kernel's launcher
'''
def body_895(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_896 = object()  # a kernel's launcher
'''
def body_896(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_897 = object()  # a kernel's launcher
'''
def body_897(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_898 = object()  # a kernel's launcher
'''
def body_898(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_899 = object()  # a kernel's launcher
'''
def body_899(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_900 = object()  # a kernel's launcher
'''
def body_900(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_901 = object()  # a kernel's launcher
'''
def body_901(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_902 = object()  # a kernel's launcher
'''
def body_902(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_903 = object()  # a kernel's launcher
'''
def body_903(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_904 = object()  # a kernel's launcher
'''
def body_904(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_905 = object()  # a kernel's launcher
'''
def body_905(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_906 = object()  # a kernel's launcher
'''
def body_906(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_907 = object()  # a kernel's launcher
'''
def body_907(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_908 = object()  # a kernel's launcher
'''
def body_908(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_909 = object()  # a kernel's launcher
'''
def body_909(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_910 = object()  # a kernel's launcher
'''
def body_910(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_911 = object()  # a kernel's launcher
'''
def body_911(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_912 = object()  # a kernel's launcher
'''
def body_912(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_913 = object()  # a kernel's launcher
'''
def body_913(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_914 = object()  # a kernel's launcher
'''
def body_914(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_915 = object()  # a kernel's launcher
'''
def body_915(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_916 = object()  # a kernel's launcher
'''
def body_916(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_917 = object()  # a kernel's launcher
'''
def body_917(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_918 = object()  # a kernel's launcher
'''
def body_918(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_919 = object()  # a kernel's launcher
'''
def body_919(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_920 = object()  # a kernel's launcher
'''
def body_920(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_921 = object()  # a kernel's launcher
'''
def body_921(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_922 = object()  # a kernel's launcher
'''
def body_922(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_923 = object()  # a kernel's launcher
'''
def body_923(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_924 = object()  # a kernel's launcher
'''
def body_924(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_925 = object()  # a kernel's launcher
'''
def body_925(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_926 = object()  # a kernel's launcher
'''
def body_926(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_927 = object()  # a kernel's launcher
'''
def body_927(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_928 = object()  # a kernel's launcher
'''
def body_928(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_929 = object()  # a kernel's launcher
'''
def body_929(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_930 = object()  # a kernel's launcher
'''
def body_930(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_931 = object()  # a kernel's launcher
'''
def body_931(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_932 = object()  # a kernel's launcher
'''
def body_932(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_933 = object()  # a kernel's launcher
'''
def body_933(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_934 = object()  # a kernel's launcher
'''
def body_934(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_935 = object()  # a kernel's launcher
'''
def body_935(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_936 = object()  # a kernel's launcher
'''
def body_936(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_937 = object()  # a kernel's launcher
'''
def body_937(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_938 = object()  # a kernel's launcher
'''
def body_938(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_939 = object()  # a kernel's launcher
'''
def body_939(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_940 = object()  # a kernel's launcher
'''
def body_940(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_941 = object()  # a kernel's launcher
'''
def body_941(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_942 = object()  # a kernel's launcher
'''
def body_942(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_943 = object()  # a kernel's launcher
'''
def body_943(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_944 = object()  # a kernel's launcher
'''
def body_944(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_945 = object()  # a kernel's launcher
'''
def body_945(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_946 = object()  # a kernel's launcher
'''
def body_946(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_947 = object()  # a kernel's launcher
'''
def body_947(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_948 = object()  # a kernel's launcher
'''
def body_948(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_949 = object()  # a kernel's launcher
'''
def body_949(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_950 = object()  # a kernel's launcher
'''
def body_950(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_951 = object()  # a kernel's launcher
'''
def body_951(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_952 = object()  # a kernel's launcher
'''
def body_952(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_953 = object()  # a kernel's launcher
'''
def body_953(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_954 = object()  # a kernel's launcher
'''
def body_954(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_955 = object()  # a kernel's launcher
'''
def body_955(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_956 = object()  # a kernel's launcher
'''
def body_956(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_957 = object()  # a kernel's launcher
'''
def body_957(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_958 = object()  # a kernel's launcher
'''
def body_958(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_959 = object()  # a kernel's launcher
'''
def body_959(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_960 = object()  # a kernel's launcher
'''
def body_960(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_961 = object()  # a kernel's launcher
'''
def body_961(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_962 = object()  # a kernel's launcher
'''
def body_962(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_963 = object()  # a kernel's launcher
'''
def body_963(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_964 = object()  # a kernel's launcher
'''
def body_964(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_965 = object()  # a kernel's launcher
'''
def body_965(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_966 = object()  # a kernel's launcher
'''
def body_966(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_967 = object()  # a kernel's launcher
'''
def body_967(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_968 = object()  # a kernel's launcher
'''
def body_968(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_969 = object()  # a kernel's launcher
'''
def body_969(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_970 = object()  # a kernel's launcher
'''
def body_970(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_971 = object()  # a kernel's launcher
'''
def body_971(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_972 = object()  # a kernel's launcher
'''
def body_972(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_973 = object()  # a kernel's launcher
'''
def body_973(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_974 = object()  # a kernel's launcher
'''
def body_974(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_975 = object()  # a kernel's launcher
'''
def body_975(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_976 = object()  # a kernel's launcher
'''
def body_976(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_977 = object()  # a kernel's launcher
'''
def body_977(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_978 = object()  # a kernel's launcher
'''
def body_978(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_979 = object()  # a kernel's launcher
'''
def body_979(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_980 = object()  # a kernel's launcher
'''
def body_980(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_981 = object()  # a kernel's launcher
'''
def body_981(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_982 = object()  # a kernel's launcher
'''
def body_982(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_983 = object()  # a kernel's launcher
'''
def body_983(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_984 = object()  # a kernel's launcher
'''
def body_984(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_985 = object()  # a kernel's launcher
'''
def body_985(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_986 = object()  # a kernel's launcher
'''
def body_986(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_987 = object()  # a kernel's launcher
'''
def body_987(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_988 = object()  # a kernel's launcher
'''
def body_988(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_989 = object()  # a kernel's launcher
'''
def body_989(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_990 = object()  # a kernel's launcher
'''
def body_990(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_991 = object()  # a kernel's launcher
'''
def body_991(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_992 = object()  # a kernel's launcher
'''
def body_992(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_993 = object()  # a kernel's launcher
'''
def body_993(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_994 = object()  # a kernel's launcher
'''
def body_994(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_995 = object()  # a kernel's launcher
'''
def body_995(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_996 = object()  # a kernel's launcher
'''
def body_996(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_997 = object()  # a kernel's launcher
'''
def body_997(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_998 = object()  # a kernel's launcher
'''
def body_998(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
kernel_999 = object()  # a kernel's launcher
'''
def body_999(in_ptr0, out_ptr0, xnumel, XBLOCK):
    return in_ptr0 + out_ptr0 * xnumel
'''
def call(args):
    arg0, = args
    args.clear()
    buf0 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_0]
    launch(kernel_0, buf0, 605184, grid=(1, 2, 3), stream=0)
    buf1 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1]
    launch(kernel_1, buf1, 605184, grid=(1, 2, 3), stream=0)
    buf2 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2]
    launch(kernel_2, buf2, 605184, grid=(1, 2, 3), stream=0)
    buf3 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3]
    launch(kernel_3, buf3, 605184, grid=(1, 2, 3), stream=0)
    buf4 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_4]
    launch(kernel_4, buf4, 605184, grid=(1, 2, 3), stream=0)
    buf5 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_5]
    launch(kernel_5, buf5, 605184, grid=(1, 2, 3), stream=0)
    buf6 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_6]
    launch(kernel_6, buf6, 605184, grid=(1, 2, 3), stream=0)
    buf7 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_7]
    launch(kernel_7, buf7, 605184, grid=(1, 2, 3), stream=0)
    buf8 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_8]
    launch(kernel_8, buf8, 605184, grid=(1, 2, 3), stream=0)
    buf9 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_9]
    launch(kernel_9, buf9, 605184, grid=(1, 2, 3), stream=0)
    buf10 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_10]
    launch(kernel_10, buf10, 605184, grid=(1, 2, 3), stream=0)
    buf11 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_11]
    launch(kernel_11, buf11, 605184, grid=(1, 2, 3), stream=0)
    buf12 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_12]
    launch(kernel_12, buf12, 605184, grid=(1, 2, 3), stream=0)
    buf13 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_13]
    launch(kernel_13, buf13, 605184, grid=(1, 2, 3), stream=0)
    buf14 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_14]
    launch(kernel_14, buf14, 605184, grid=(1, 2, 3), stream=0)
    buf15 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_15]
    launch(kernel_15, buf15, 605184, grid=(1, 2, 3), stream=0)
    buf16 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_16]
    launch(kernel_16, buf16, 605184, grid=(1, 2, 3), stream=0)
    buf17 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_17]
    launch(kernel_17, buf17, 605184, grid=(1, 2, 3), stream=0)
    buf18 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_18]
    launch(kernel_18, buf18, 605184, grid=(1, 2, 3), stream=0)
    buf19 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_19]
    launch(kernel_19, buf19, 605184, grid=(1, 2, 3), stream=0)
    buf20 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_20]
    launch(kernel_20, buf20, 605184, grid=(1, 2, 3), stream=0)
    buf21 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_21]
    launch(kernel_21, buf21, 605184, grid=(1, 2, 3), stream=0)
    buf22 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_22]
    launch(kernel_22, buf22, 605184, grid=(1, 2, 3), stream=0)
    buf23 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_23]
    launch(kernel_23, buf23, 605184, grid=(1, 2, 3), stream=0)
    buf24 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_24]
    launch(kernel_24, buf24, 605184, grid=(1, 2, 3), stream=0)
    buf25 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_25]
    launch(kernel_25, buf25, 605184, grid=(1, 2, 3), stream=0)
    buf26 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_26]
    launch(kernel_26, buf26, 605184, grid=(1, 2, 3), stream=0)
    buf27 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_27]
    launch(kernel_27, buf27, 605184, grid=(1, 2, 3), stream=0)
    buf28 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_28]
    launch(kernel_28, buf28, 605184, grid=(1, 2, 3), stream=0)
    buf29 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_29]
    launch(kernel_29, buf29, 605184, grid=(1, 2, 3), stream=0)
    buf30 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_30]
    launch(kernel_30, buf30, 605184, grid=(1, 2, 3), stream=0)
    buf31 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_31]
    launch(kernel_31, buf31, 605184, grid=(1, 2, 3), stream=0)
    buf32 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_32]
    launch(kernel_32, buf32, 605184, grid=(1, 2, 3), stream=0)
    buf33 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_33]
    launch(kernel_33, buf33, 605184, grid=(1, 2, 3), stream=0)
    buf34 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_34]
    launch(kernel_34, buf34, 605184, grid=(1, 2, 3), stream=0)
    buf35 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_35]
    launch(kernel_35, buf35, 605184, grid=(1, 2, 3), stream=0)
    buf36 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_36]
    launch(kernel_36, buf36, 605184, grid=(1, 2, 3), stream=0)
    buf37 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_37]
    launch(kernel_37, buf37, 605184, grid=(1, 2, 3), stream=0)
    buf38 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_38]
    launch(kernel_38, buf38, 605184, grid=(1, 2, 3), stream=0)
    buf39 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_39]
    launch(kernel_39, buf39, 605184, grid=(1, 2, 3), stream=0)
    buf40 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_40]
    launch(kernel_40, buf40, 605184, grid=(1, 2, 3), stream=0)
    buf41 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_41]
    launch(kernel_41, buf41, 605184, grid=(1, 2, 3), stream=0)
    buf42 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_42]
    launch(kernel_42, buf42, 605184, grid=(1, 2, 3), stream=0)
    buf43 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_43]
    launch(kernel_43, buf43, 605184, grid=(1, 2, 3), stream=0)
    buf44 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_44]
    launch(kernel_44, buf44, 605184, grid=(1, 2, 3), stream=0)
    buf45 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_45]
    launch(kernel_45, buf45, 605184, grid=(1, 2, 3), stream=0)
    buf46 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_46]
    launch(kernel_46, buf46, 605184, grid=(1, 2, 3), stream=0)
    buf47 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_47]
    launch(kernel_47, buf47, 605184, grid=(1, 2, 3), stream=0)
    buf48 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_48]
    launch(kernel_48, buf48, 605184, grid=(1, 2, 3), stream=0)
    buf49 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_49]
    launch(kernel_49, buf49, 605184, grid=(1, 2, 3), stream=0)
    buf50 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_50]
    launch(kernel_50, buf50, 605184, grid=(1, 2, 3), stream=0)
    buf51 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_51]
    launch(kernel_51, buf51, 605184, grid=(1, 2, 3), stream=0)
    buf52 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_52]
    launch(kernel_52, buf52, 605184, grid=(1, 2, 3), stream=0)
    buf53 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_53]
    launch(kernel_53, buf53, 605184, grid=(1, 2, 3), stream=0)
    buf54 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_54]
    launch(kernel_54, buf54, 605184, grid=(1, 2, 3), stream=0)
    buf55 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_55]
    launch(kernel_55, buf55, 605184, grid=(1, 2, 3), stream=0)
    buf56 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_56]
    launch(kernel_56, buf56, 605184, grid=(1, 2, 3), stream=0)
    buf57 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_57]
    launch(kernel_57, buf57, 605184, grid=(1, 2, 3), stream=0)
    buf58 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_58]
    launch(kernel_58, buf58, 605184, grid=(1, 2, 3), stream=0)
    buf59 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_59]
    launch(kernel_59, buf59, 605184, grid=(1, 2, 3), stream=0)
    buf60 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_60]
    launch(kernel_60, buf60, 605184, grid=(1, 2, 3), stream=0)
    buf61 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_61]
    launch(kernel_61, buf61, 605184, grid=(1, 2, 3), stream=0)
    buf62 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_62]
    launch(kernel_62, buf62, 605184, grid=(1, 2, 3), stream=0)
    buf63 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_63]
    launch(kernel_63, buf63, 605184, grid=(1, 2, 3), stream=0)
    buf64 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_64]
    launch(kernel_64, buf64, 605184, grid=(1, 2, 3), stream=0)
    buf65 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_65]
    launch(kernel_65, buf65, 605184, grid=(1, 2, 3), stream=0)
    buf66 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_66]
    launch(kernel_66, buf66, 605184, grid=(1, 2, 3), stream=0)
    buf67 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_67]
    launch(kernel_67, buf67, 605184, grid=(1, 2, 3), stream=0)
    buf68 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_68]
    launch(kernel_68, buf68, 605184, grid=(1, 2, 3), stream=0)
    buf69 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_69]
    launch(kernel_69, buf69, 605184, grid=(1, 2, 3), stream=0)
    buf70 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_70]
    launch(kernel_70, buf70, 605184, grid=(1, 2, 3), stream=0)
    buf71 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_71]
    launch(kernel_71, buf71, 605184, grid=(1, 2, 3), stream=0)
    buf72 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_72]
    launch(kernel_72, buf72, 605184, grid=(1, 2, 3), stream=0)
    buf73 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_73]
    launch(kernel_73, buf73, 605184, grid=(1, 2, 3), stream=0)
    buf74 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_74]
    launch(kernel_74, buf74, 605184, grid=(1, 2, 3), stream=0)
    buf75 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_75]
    launch(kernel_75, buf75, 605184, grid=(1, 2, 3), stream=0)
    buf76 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_76]
    launch(kernel_76, buf76, 605184, grid=(1, 2, 3), stream=0)
    buf77 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_77]
    launch(kernel_77, buf77, 605184, grid=(1, 2, 3), stream=0)
    buf78 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_78]
    launch(kernel_78, buf78, 605184, grid=(1, 2, 3), stream=0)
    buf79 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_79]
    launch(kernel_79, buf79, 605184, grid=(1, 2, 3), stream=0)
    buf80 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_80]
    launch(kernel_80, buf80, 605184, grid=(1, 2, 3), stream=0)
    buf81 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_81]
    launch(kernel_81, buf81, 605184, grid=(1, 2, 3), stream=0)
    buf82 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_82]
    launch(kernel_82, buf82, 605184, grid=(1, 2, 3), stream=0)
    buf83 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_83]
    launch(kernel_83, buf83, 605184, grid=(1, 2, 3), stream=0)
    buf84 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_84]
    launch(kernel_84, buf84, 605184, grid=(1, 2, 3), stream=0)
    buf85 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_85]
    launch(kernel_85, buf85, 605184, grid=(1, 2, 3), stream=0)
    buf86 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_86]
    launch(kernel_86, buf86, 605184, grid=(1, 2, 3), stream=0)
    buf87 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_87]
    launch(kernel_87, buf87, 605184, grid=(1, 2, 3), stream=0)
    buf88 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_88]
    launch(kernel_88, buf88, 605184, grid=(1, 2, 3), stream=0)
    buf89 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_89]
    launch(kernel_89, buf89, 605184, grid=(1, 2, 3), stream=0)
    buf90 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_90]
    launch(kernel_90, buf90, 605184, grid=(1, 2, 3), stream=0)
    buf91 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_91]
    launch(kernel_91, buf91, 605184, grid=(1, 2, 3), stream=0)
    buf92 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_92]
    launch(kernel_92, buf92, 605184, grid=(1, 2, 3), stream=0)
    buf93 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_93]
    launch(kernel_93, buf93, 605184, grid=(1, 2, 3), stream=0)
    buf94 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_94]
    launch(kernel_94, buf94, 605184, grid=(1, 2, 3), stream=0)
    buf95 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_95]
    launch(kernel_95, buf95, 605184, grid=(1, 2, 3), stream=0)
    buf96 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_96]
    launch(kernel_96, buf96, 605184, grid=(1, 2, 3), stream=0)
    buf97 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_97]
    launch(kernel_97, buf97, 605184, grid=(1, 2, 3), stream=0)
    buf98 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_98]
    launch(kernel_98, buf98, 605184, grid=(1, 2, 3), stream=0)
    buf99 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_99]
    launch(kernel_99, buf99, 605184, grid=(1, 2, 3), stream=0)
    buf100 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_100]
    launch(kernel_100, buf100, 605184, grid=(1, 2, 3), stream=0)
    buf101 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_101]
    launch(kernel_101, buf101, 605184, grid=(1, 2, 3), stream=0)
    buf102 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_102]
    launch(kernel_102, buf102, 605184, grid=(1, 2, 3), stream=0)
    buf103 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_103]
    launch(kernel_103, buf103, 605184, grid=(1, 2, 3), stream=0)
    buf104 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_104]
    launch(kernel_104, buf104, 605184, grid=(1, 2, 3), stream=0)
    buf105 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_105]
    launch(kernel_105, buf105, 605184, grid=(1, 2, 3), stream=0)
    buf106 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_106]
    launch(kernel_106, buf106, 605184, grid=(1, 2, 3), stream=0)
    buf107 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_107]
    launch(kernel_107, buf107, 605184, grid=(1, 2, 3), stream=0)
    buf108 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_108]
    launch(kernel_108, buf108, 605184, grid=(1, 2, 3), stream=0)
    buf109 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_109]
    launch(kernel_109, buf109, 605184, grid=(1, 2, 3), stream=0)
    buf110 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_110]
    launch(kernel_110, buf110, 605184, grid=(1, 2, 3), stream=0)
    buf111 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_111]
    launch(kernel_111, buf111, 605184, grid=(1, 2, 3), stream=0)
    buf112 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_112]
    launch(kernel_112, buf112, 605184, grid=(1, 2, 3), stream=0)
    buf113 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_113]
    launch(kernel_113, buf113, 605184, grid=(1, 2, 3), stream=0)
    buf114 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_114]
    launch(kernel_114, buf114, 605184, grid=(1, 2, 3), stream=0)
    buf115 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_115]
    launch(kernel_115, buf115, 605184, grid=(1, 2, 3), stream=0)
    buf116 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_116]
    launch(kernel_116, buf116, 605184, grid=(1, 2, 3), stream=0)
    buf117 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_117]
    launch(kernel_117, buf117, 605184, grid=(1, 2, 3), stream=0)
    buf118 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_118]
    launch(kernel_118, buf118, 605184, grid=(1, 2, 3), stream=0)
    buf119 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_119]
    launch(kernel_119, buf119, 605184, grid=(1, 2, 3), stream=0)
    buf120 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_120]
    launch(kernel_120, buf120, 605184, grid=(1, 2, 3), stream=0)
    buf121 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_121]
    launch(kernel_121, buf121, 605184, grid=(1, 2, 3), stream=0)
    buf122 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_122]
    launch(kernel_122, buf122, 605184, grid=(1, 2, 3), stream=0)
    buf123 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_123]
    launch(kernel_123, buf123, 605184, grid=(1, 2, 3), stream=0)
    buf124 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_124]
    launch(kernel_124, buf124, 605184, grid=(1, 2, 3), stream=0)
    buf125 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_125]
    launch(kernel_125, buf125, 605184, grid=(1, 2, 3), stream=0)
    buf126 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_126]
    launch(kernel_126, buf126, 605184, grid=(1, 2, 3), stream=0)
    buf127 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_127]
    launch(kernel_127, buf127, 605184, grid=(1, 2, 3), stream=0)
    buf128 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_128]
    launch(kernel_128, buf128, 605184, grid=(1, 2, 3), stream=0)
    buf129 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_129]
    launch(kernel_129, buf129, 605184, grid=(1, 2, 3), stream=0)
    buf130 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_130]
    launch(kernel_130, buf130, 605184, grid=(1, 2, 3), stream=0)
    buf131 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_131]
    launch(kernel_131, buf131, 605184, grid=(1, 2, 3), stream=0)
    buf132 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_132]
    launch(kernel_132, buf132, 605184, grid=(1, 2, 3), stream=0)
    buf133 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_133]
    launch(kernel_133, buf133, 605184, grid=(1, 2, 3), stream=0)
    buf134 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_134]
    launch(kernel_134, buf134, 605184, grid=(1, 2, 3), stream=0)
    buf135 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_135]
    launch(kernel_135, buf135, 605184, grid=(1, 2, 3), stream=0)
    buf136 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_136]
    launch(kernel_136, buf136, 605184, grid=(1, 2, 3), stream=0)
    buf137 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_137]
    launch(kernel_137, buf137, 605184, grid=(1, 2, 3), stream=0)
    buf138 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_138]
    launch(kernel_138, buf138, 605184, grid=(1, 2, 3), stream=0)
    buf139 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_139]
    launch(kernel_139, buf139, 605184, grid=(1, 2, 3), stream=0)
    buf140 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_140]
    launch(kernel_140, buf140, 605184, grid=(1, 2, 3), stream=0)
    buf141 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_141]
    launch(kernel_141, buf141, 605184, grid=(1, 2, 3), stream=0)
    buf142 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_142]
    launch(kernel_142, buf142, 605184, grid=(1, 2, 3), stream=0)
    buf143 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_143]
    launch(kernel_143, buf143, 605184, grid=(1, 2, 3), stream=0)
    buf144 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_144]
    launch(kernel_144, buf144, 605184, grid=(1, 2, 3), stream=0)
    buf145 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_145]
    launch(kernel_145, buf145, 605184, grid=(1, 2, 3), stream=0)
    buf146 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_146]
    launch(kernel_146, buf146, 605184, grid=(1, 2, 3), stream=0)
    buf147 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_147]
    launch(kernel_147, buf147, 605184, grid=(1, 2, 3), stream=0)
    buf148 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_148]
    launch(kernel_148, buf148, 605184, grid=(1, 2, 3), stream=0)
    buf149 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_149]
    launch(kernel_149, buf149, 605184, grid=(1, 2, 3), stream=0)
    buf150 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_150]
    launch(kernel_150, buf150, 605184, grid=(1, 2, 3), stream=0)
    buf151 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_151]
    launch(kernel_151, buf151, 605184, grid=(1, 2, 3), stream=0)
    buf152 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_152]
    launch(kernel_152, buf152, 605184, grid=(1, 2, 3), stream=0)
    buf153 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_153]
    launch(kernel_153, buf153, 605184, grid=(1, 2, 3), stream=0)
    buf154 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_154]
    launch(kernel_154, buf154, 605184, grid=(1, 2, 3), stream=0)
    buf155 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_155]
    launch(kernel_155, buf155, 605184, grid=(1, 2, 3), stream=0)
    buf156 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_156]
    launch(kernel_156, buf156, 605184, grid=(1, 2, 3), stream=0)
    buf157 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_157]
    launch(kernel_157, buf157, 605184, grid=(1, 2, 3), stream=0)
    buf158 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_158]
    launch(kernel_158, buf158, 605184, grid=(1, 2, 3), stream=0)
    buf159 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_159]
    launch(kernel_159, buf159, 605184, grid=(1, 2, 3), stream=0)
    buf160 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_160]
    launch(kernel_160, buf160, 605184, grid=(1, 2, 3), stream=0)
    buf161 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_161]
    launch(kernel_161, buf161, 605184, grid=(1, 2, 3), stream=0)
    buf162 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_162]
    launch(kernel_162, buf162, 605184, grid=(1, 2, 3), stream=0)
    buf163 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_163]
    launch(kernel_163, buf163, 605184, grid=(1, 2, 3), stream=0)
    buf164 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_164]
    launch(kernel_164, buf164, 605184, grid=(1, 2, 3), stream=0)
    buf165 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_165]
    launch(kernel_165, buf165, 605184, grid=(1, 2, 3), stream=0)
    buf166 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_166]
    launch(kernel_166, buf166, 605184, grid=(1, 2, 3), stream=0)
    buf167 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_167]
    launch(kernel_167, buf167, 605184, grid=(1, 2, 3), stream=0)
    buf168 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_168]
    launch(kernel_168, buf168, 605184, grid=(1, 2, 3), stream=0)
    buf169 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_169]
    launch(kernel_169, buf169, 605184, grid=(1, 2, 3), stream=0)
    buf170 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_170]
    launch(kernel_170, buf170, 605184, grid=(1, 2, 3), stream=0)
    buf171 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_171]
    launch(kernel_171, buf171, 605184, grid=(1, 2, 3), stream=0)
    buf172 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_172]
    launch(kernel_172, buf172, 605184, grid=(1, 2, 3), stream=0)
    buf173 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_173]
    launch(kernel_173, buf173, 605184, grid=(1, 2, 3), stream=0)
    buf174 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_174]
    launch(kernel_174, buf174, 605184, grid=(1, 2, 3), stream=0)
    buf175 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_175]
    launch(kernel_175, buf175, 605184, grid=(1, 2, 3), stream=0)
    buf176 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_176]
    launch(kernel_176, buf176, 605184, grid=(1, 2, 3), stream=0)
    buf177 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_177]
    launch(kernel_177, buf177, 605184, grid=(1, 2, 3), stream=0)
    buf178 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_178]
    launch(kernel_178, buf178, 605184, grid=(1, 2, 3), stream=0)
    buf179 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_179]
    launch(kernel_179, buf179, 605184, grid=(1, 2, 3), stream=0)
    buf180 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_180]
    launch(kernel_180, buf180, 605184, grid=(1, 2, 3), stream=0)
    buf181 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_181]
    launch(kernel_181, buf181, 605184, grid=(1, 2, 3), stream=0)
    buf182 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_182]
    launch(kernel_182, buf182, 605184, grid=(1, 2, 3), stream=0)
    buf183 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_183]
    launch(kernel_183, buf183, 605184, grid=(1, 2, 3), stream=0)
    buf184 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_184]
    launch(kernel_184, buf184, 605184, grid=(1, 2, 3), stream=0)
    buf185 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_185]
    launch(kernel_185, buf185, 605184, grid=(1, 2, 3), stream=0)
    buf186 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_186]
    launch(kernel_186, buf186, 605184, grid=(1, 2, 3), stream=0)
    buf187 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_187]
    launch(kernel_187, buf187, 605184, grid=(1, 2, 3), stream=0)
    buf188 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_188]
    launch(kernel_188, buf188, 605184, grid=(1, 2, 3), stream=0)
    buf189 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_189]
    launch(kernel_189, buf189, 605184, grid=(1, 2, 3), stream=0)
    buf190 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_190]
    launch(kernel_190, buf190, 605184, grid=(1, 2, 3), stream=0)
    buf191 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_191]
    launch(kernel_191, buf191, 605184, grid=(1, 2, 3), stream=0)
    buf192 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_192]
    launch(kernel_192, buf192, 605184, grid=(1, 2, 3), stream=0)
    buf193 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_193]
    launch(kernel_193, buf193, 605184, grid=(1, 2, 3), stream=0)
    buf194 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_194]
    launch(kernel_194, buf194, 605184, grid=(1, 2, 3), stream=0)
    buf195 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_195]
    launch(kernel_195, buf195, 605184, grid=(1, 2, 3), stream=0)
    buf196 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_196]
    launch(kernel_196, buf196, 605184, grid=(1, 2, 3), stream=0)
    buf197 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_197]
    launch(kernel_197, buf197, 605184, grid=(1, 2, 3), stream=0)
    buf198 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_198]
    launch(kernel_198, buf198, 605184, grid=(1, 2, 3), stream=0)
    buf199 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_199]
    launch(kernel_199, buf199, 605184, grid=(1, 2, 3), stream=0)
    buf200 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_200]
    launch(kernel_200, buf200, 605184, grid=(1, 2, 3), stream=0)
    buf201 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_201]
    launch(kernel_201, buf201, 605184, grid=(1, 2, 3), stream=0)
    buf202 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_202]
    launch(kernel_202, buf202, 605184, grid=(1, 2, 3), stream=0)
    buf203 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_203]
    launch(kernel_203, buf203, 605184, grid=(1, 2, 3), stream=0)
    buf204 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_204]
    launch(kernel_204, buf204, 605184, grid=(1, 2, 3), stream=0)
    buf205 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_205]
    launch(kernel_205, buf205, 605184, grid=(1, 2, 3), stream=0)
    buf206 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_206]
    launch(kernel_206, buf206, 605184, grid=(1, 2, 3), stream=0)
    buf207 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_207]
    launch(kernel_207, buf207, 605184, grid=(1, 2, 3), stream=0)
    buf208 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_208]
    launch(kernel_208, buf208, 605184, grid=(1, 2, 3), stream=0)
    buf209 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_209]
    launch(kernel_209, buf209, 605184, grid=(1, 2, 3), stream=0)
    buf210 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_210]
    launch(kernel_210, buf210, 605184, grid=(1, 2, 3), stream=0)
    buf211 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_211]
    launch(kernel_211, buf211, 605184, grid=(1, 2, 3), stream=0)
    buf212 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_212]
    launch(kernel_212, buf212, 605184, grid=(1, 2, 3), stream=0)
    buf213 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_213]
    launch(kernel_213, buf213, 605184, grid=(1, 2, 3), stream=0)
    buf214 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_214]
    launch(kernel_214, buf214, 605184, grid=(1, 2, 3), stream=0)
    buf215 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_215]
    launch(kernel_215, buf215, 605184, grid=(1, 2, 3), stream=0)
    buf216 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_216]
    launch(kernel_216, buf216, 605184, grid=(1, 2, 3), stream=0)
    buf217 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_217]
    launch(kernel_217, buf217, 605184, grid=(1, 2, 3), stream=0)
    buf218 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_218]
    launch(kernel_218, buf218, 605184, grid=(1, 2, 3), stream=0)
    buf219 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_219]
    launch(kernel_219, buf219, 605184, grid=(1, 2, 3), stream=0)
    buf220 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_220]
    launch(kernel_220, buf220, 605184, grid=(1, 2, 3), stream=0)
    buf221 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_221]
    launch(kernel_221, buf221, 605184, grid=(1, 2, 3), stream=0)
    buf222 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_222]
    launch(kernel_222, buf222, 605184, grid=(1, 2, 3), stream=0)
    buf223 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_223]
    launch(kernel_223, buf223, 605184, grid=(1, 2, 3), stream=0)
    buf224 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_224]
    launch(kernel_224, buf224, 605184, grid=(1, 2, 3), stream=0)
    buf225 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_225]
    launch(kernel_225, buf225, 605184, grid=(1, 2, 3), stream=0)
    buf226 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_226]
    launch(kernel_226, buf226, 605184, grid=(1, 2, 3), stream=0)
    buf227 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_227]
    launch(kernel_227, buf227, 605184, grid=(1, 2, 3), stream=0)
    buf228 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_228]
    launch(kernel_228, buf228, 605184, grid=(1, 2, 3), stream=0)
    buf229 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_229]
    launch(kernel_229, buf229, 605184, grid=(1, 2, 3), stream=0)
    buf230 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_230]
    launch(kernel_230, buf230, 605184, grid=(1, 2, 3), stream=0)
    buf231 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_231]
    launch(kernel_231, buf231, 605184, grid=(1, 2, 3), stream=0)
    buf232 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_232]
    launch(kernel_232, buf232, 605184, grid=(1, 2, 3), stream=0)
    buf233 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_233]
    launch(kernel_233, buf233, 605184, grid=(1, 2, 3), stream=0)
    buf234 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_234]
    launch(kernel_234, buf234, 605184, grid=(1, 2, 3), stream=0)
    buf235 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_235]
    launch(kernel_235, buf235, 605184, grid=(1, 2, 3), stream=0)
    buf236 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_236]
    launch(kernel_236, buf236, 605184, grid=(1, 2, 3), stream=0)
    buf237 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_237]
    launch(kernel_237, buf237, 605184, grid=(1, 2, 3), stream=0)
    buf238 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_238]
    launch(kernel_238, buf238, 605184, grid=(1, 2, 3), stream=0)
    buf239 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_239]
    launch(kernel_239, buf239, 605184, grid=(1, 2, 3), stream=0)
    buf240 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_240]
    launch(kernel_240, buf240, 605184, grid=(1, 2, 3), stream=0)
    buf241 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_241]
    launch(kernel_241, buf241, 605184, grid=(1, 2, 3), stream=0)
    buf242 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_242]
    launch(kernel_242, buf242, 605184, grid=(1, 2, 3), stream=0)
    buf243 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_243]
    launch(kernel_243, buf243, 605184, grid=(1, 2, 3), stream=0)
    buf244 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_244]
    launch(kernel_244, buf244, 605184, grid=(1, 2, 3), stream=0)
    buf245 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_245]
    launch(kernel_245, buf245, 605184, grid=(1, 2, 3), stream=0)
    buf246 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_246]
    launch(kernel_246, buf246, 605184, grid=(1, 2, 3), stream=0)
    buf247 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_247]
    launch(kernel_247, buf247, 605184, grid=(1, 2, 3), stream=0)
    buf248 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_248]
    launch(kernel_248, buf248, 605184, grid=(1, 2, 3), stream=0)
    buf249 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_249]
    launch(kernel_249, buf249, 605184, grid=(1, 2, 3), stream=0)
    buf250 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_250]
    launch(kernel_250, buf250, 605184, grid=(1, 2, 3), stream=0)
    buf251 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_251]
    launch(kernel_251, buf251, 605184, grid=(1, 2, 3), stream=0)
    buf252 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_252]
    launch(kernel_252, buf252, 605184, grid=(1, 2, 3), stream=0)
    buf253 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_253]
    launch(kernel_253, buf253, 605184, grid=(1, 2, 3), stream=0)
    buf254 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_254]
    launch(kernel_254, buf254, 605184, grid=(1, 2, 3), stream=0)
    buf255 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_255]
    launch(kernel_255, buf255, 605184, grid=(1, 2, 3), stream=0)
    buf256 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_256]
    launch(kernel_256, buf256, 605184, grid=(1, 2, 3), stream=0)
    buf257 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_257]
    launch(kernel_257, buf257, 605184, grid=(1, 2, 3), stream=0)
    buf258 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_258]
    launch(kernel_258, buf258, 605184, grid=(1, 2, 3), stream=0)
    buf259 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_259]
    launch(kernel_259, buf259, 605184, grid=(1, 2, 3), stream=0)
    buf260 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_260]
    launch(kernel_260, buf260, 605184, grid=(1, 2, 3), stream=0)
    buf261 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_261]
    launch(kernel_261, buf261, 605184, grid=(1, 2, 3), stream=0)
    buf262 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_262]
    launch(kernel_262, buf262, 605184, grid=(1, 2, 3), stream=0)
    buf263 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_263]
    launch(kernel_263, buf263, 605184, grid=(1, 2, 3), stream=0)
    buf264 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_264]
    launch(kernel_264, buf264, 605184, grid=(1, 2, 3), stream=0)
    buf265 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_265]
    launch(kernel_265, buf265, 605184, grid=(1, 2, 3), stream=0)
    buf266 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_266]
    launch(kernel_266, buf266, 605184, grid=(1, 2, 3), stream=0)
    buf267 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_267]
    launch(kernel_267, buf267, 605184, grid=(1, 2, 3), stream=0)
    buf268 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_268]
    launch(kernel_268, buf268, 605184, grid=(1, 2, 3), stream=0)
    buf269 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_269]
    launch(kernel_269, buf269, 605184, grid=(1, 2, 3), stream=0)
    buf270 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_270]
    launch(kernel_270, buf270, 605184, grid=(1, 2, 3), stream=0)
    buf271 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_271]
    launch(kernel_271, buf271, 605184, grid=(1, 2, 3), stream=0)
    buf272 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_272]
    launch(kernel_272, buf272, 605184, grid=(1, 2, 3), stream=0)
    buf273 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_273]
    launch(kernel_273, buf273, 605184, grid=(1, 2, 3), stream=0)
    buf274 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_274]
    launch(kernel_274, buf274, 605184, grid=(1, 2, 3), stream=0)
    buf275 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_275]
    launch(kernel_275, buf275, 605184, grid=(1, 2, 3), stream=0)
    buf276 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_276]
    launch(kernel_276, buf276, 605184, grid=(1, 2, 3), stream=0)
    buf277 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_277]
    launch(kernel_277, buf277, 605184, grid=(1, 2, 3), stream=0)
    buf278 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_278]
    launch(kernel_278, buf278, 605184, grid=(1, 2, 3), stream=0)
    buf279 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_279]
    launch(kernel_279, buf279, 605184, grid=(1, 2, 3), stream=0)
    buf280 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_280]
    launch(kernel_280, buf280, 605184, grid=(1, 2, 3), stream=0)
    buf281 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_281]
    launch(kernel_281, buf281, 605184, grid=(1, 2, 3), stream=0)
    buf282 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_282]
    launch(kernel_282, buf282, 605184, grid=(1, 2, 3), stream=0)
    buf283 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_283]
    launch(kernel_283, buf283, 605184, grid=(1, 2, 3), stream=0)
    buf284 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_284]
    launch(kernel_284, buf284, 605184, grid=(1, 2, 3), stream=0)
    buf285 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_285]
    launch(kernel_285, buf285, 605184, grid=(1, 2, 3), stream=0)
    buf286 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_286]
    launch(kernel_286, buf286, 605184, grid=(1, 2, 3), stream=0)
    buf287 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_287]
    launch(kernel_287, buf287, 605184, grid=(1, 2, 3), stream=0)
    buf288 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_288]
    launch(kernel_288, buf288, 605184, grid=(1, 2, 3), stream=0)
    buf289 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_289]
    launch(kernel_289, buf289, 605184, grid=(1, 2, 3), stream=0)
    buf290 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_290]
    launch(kernel_290, buf290, 605184, grid=(1, 2, 3), stream=0)
    buf291 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_291]
    launch(kernel_291, buf291, 605184, grid=(1, 2, 3), stream=0)
    buf292 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_292]
    launch(kernel_292, buf292, 605184, grid=(1, 2, 3), stream=0)
    buf293 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_293]
    launch(kernel_293, buf293, 605184, grid=(1, 2, 3), stream=0)
    buf294 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_294]
    launch(kernel_294, buf294, 605184, grid=(1, 2, 3), stream=0)
    buf295 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_295]
    launch(kernel_295, buf295, 605184, grid=(1, 2, 3), stream=0)
    buf296 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_296]
    launch(kernel_296, buf296, 605184, grid=(1, 2, 3), stream=0)
    buf297 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_297]
    launch(kernel_297, buf297, 605184, grid=(1, 2, 3), stream=0)
    buf298 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_298]
    launch(kernel_298, buf298, 605184, grid=(1, 2, 3), stream=0)
    buf299 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_299]
    launch(kernel_299, buf299, 605184, grid=(1, 2, 3), stream=0)
    buf300 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_300]
    launch(kernel_300, buf300, 605184, grid=(1, 2, 3), stream=0)
    buf301 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_301]
    launch(kernel_301, buf301, 605184, grid=(1, 2, 3), stream=0)
    buf302 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_302]
    launch(kernel_302, buf302, 605184, grid=(1, 2, 3), stream=0)
    buf303 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_303]
    launch(kernel_303, buf303, 605184, grid=(1, 2, 3), stream=0)
    buf304 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_304]
    launch(kernel_304, buf304, 605184, grid=(1, 2, 3), stream=0)
    buf305 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_305]
    launch(kernel_305, buf305, 605184, grid=(1, 2, 3), stream=0)
    buf306 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_306]
    launch(kernel_306, buf306, 605184, grid=(1, 2, 3), stream=0)
    buf307 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_307]
    launch(kernel_307, buf307, 605184, grid=(1, 2, 3), stream=0)
    buf308 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_308]
    launch(kernel_308, buf308, 605184, grid=(1, 2, 3), stream=0)
    buf309 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_309]
    launch(kernel_309, buf309, 605184, grid=(1, 2, 3), stream=0)
    buf310 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_310]
    launch(kernel_310, buf310, 605184, grid=(1, 2, 3), stream=0)
    buf311 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_311]
    launch(kernel_311, buf311, 605184, grid=(1, 2, 3), stream=0)
    buf312 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_312]
    launch(kernel_312, buf312, 605184, grid=(1, 2, 3), stream=0)
    buf313 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_313]
    launch(kernel_313, buf313, 605184, grid=(1, 2, 3), stream=0)
    buf314 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_314]
    launch(kernel_314, buf314, 605184, grid=(1, 2, 3), stream=0)
    buf315 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_315]
    launch(kernel_315, buf315, 605184, grid=(1, 2, 3), stream=0)
    buf316 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_316]
    launch(kernel_316, buf316, 605184, grid=(1, 2, 3), stream=0)
    buf317 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_317]
    launch(kernel_317, buf317, 605184, grid=(1, 2, 3), stream=0)
    buf318 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_318]
    launch(kernel_318, buf318, 605184, grid=(1, 2, 3), stream=0)
    buf319 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_319]
    launch(kernel_319, buf319, 605184, grid=(1, 2, 3), stream=0)
    buf320 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_320]
    launch(kernel_320, buf320, 605184, grid=(1, 2, 3), stream=0)
    buf321 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_321]
    launch(kernel_321, buf321, 605184, grid=(1, 2, 3), stream=0)
    buf322 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_322]
    launch(kernel_322, buf322, 605184, grid=(1, 2, 3), stream=0)
    buf323 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_323]
    launch(kernel_323, buf323, 605184, grid=(1, 2, 3), stream=0)
    buf324 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_324]
    launch(kernel_324, buf324, 605184, grid=(1, 2, 3), stream=0)
    buf325 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_325]
    launch(kernel_325, buf325, 605184, grid=(1, 2, 3), stream=0)
    buf326 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_326]
    launch(kernel_326, buf326, 605184, grid=(1, 2, 3), stream=0)
    buf327 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_327]
    launch(kernel_327, buf327, 605184, grid=(1, 2, 3), stream=0)
    buf328 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_328]
    launch(kernel_328, buf328, 605184, grid=(1, 2, 3), stream=0)
    buf329 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_329]
    launch(kernel_329, buf329, 605184, grid=(1, 2, 3), stream=0)
    buf330 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_330]
    launch(kernel_330, buf330, 605184, grid=(1, 2, 3), stream=0)
    buf331 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_331]
    launch(kernel_331, buf331, 605184, grid=(1, 2, 3), stream=0)
    buf332 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_332]
    launch(kernel_332, buf332, 605184, grid=(1, 2, 3), stream=0)
    buf333 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_333]
    launch(kernel_333, buf333, 605184, grid=(1, 2, 3), stream=0)
    buf334 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_334]
    launch(kernel_334, buf334, 605184, grid=(1, 2, 3), stream=0)
    buf335 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_335]
    launch(kernel_335, buf335, 605184, grid=(1, 2, 3), stream=0)
    buf336 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_336]
    launch(kernel_336, buf336, 605184, grid=(1, 2, 3), stream=0)
    buf337 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_337]
    launch(kernel_337, buf337, 605184, grid=(1, 2, 3), stream=0)
    buf338 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_338]
    launch(kernel_338, buf338, 605184, grid=(1, 2, 3), stream=0)
    buf339 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_339]
    launch(kernel_339, buf339, 605184, grid=(1, 2, 3), stream=0)
    buf340 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_340]
    launch(kernel_340, buf340, 605184, grid=(1, 2, 3), stream=0)
    buf341 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_341]
    launch(kernel_341, buf341, 605184, grid=(1, 2, 3), stream=0)
    buf342 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_342]
    launch(kernel_342, buf342, 605184, grid=(1, 2, 3), stream=0)
    buf343 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_343]
    launch(kernel_343, buf343, 605184, grid=(1, 2, 3), stream=0)
    buf344 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_344]
    launch(kernel_344, buf344, 605184, grid=(1, 2, 3), stream=0)
    buf345 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_345]
    launch(kernel_345, buf345, 605184, grid=(1, 2, 3), stream=0)
    buf346 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_346]
    launch(kernel_346, buf346, 605184, grid=(1, 2, 3), stream=0)
    buf347 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_347]
    launch(kernel_347, buf347, 605184, grid=(1, 2, 3), stream=0)
    buf348 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_348]
    launch(kernel_348, buf348, 605184, grid=(1, 2, 3), stream=0)
    buf349 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_349]
    launch(kernel_349, buf349, 605184, grid=(1, 2, 3), stream=0)
    buf350 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_350]
    launch(kernel_350, buf350, 605184, grid=(1, 2, 3), stream=0)
    buf351 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_351]
    launch(kernel_351, buf351, 605184, grid=(1, 2, 3), stream=0)
    buf352 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_352]
    launch(kernel_352, buf352, 605184, grid=(1, 2, 3), stream=0)
    buf353 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_353]
    launch(kernel_353, buf353, 605184, grid=(1, 2, 3), stream=0)
    buf354 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_354]
    launch(kernel_354, buf354, 605184, grid=(1, 2, 3), stream=0)
    buf355 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_355]
    launch(kernel_355, buf355, 605184, grid=(1, 2, 3), stream=0)
    buf356 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_356]
    launch(kernel_356, buf356, 605184, grid=(1, 2, 3), stream=0)
    buf357 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_357]
    launch(kernel_357, buf357, 605184, grid=(1, 2, 3), stream=0)
    buf358 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_358]
    launch(kernel_358, buf358, 605184, grid=(1, 2, 3), stream=0)
    buf359 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_359]
    launch(kernel_359, buf359, 605184, grid=(1, 2, 3), stream=0)
    buf360 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_360]
    launch(kernel_360, buf360, 605184, grid=(1, 2, 3), stream=0)
    buf361 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_361]
    launch(kernel_361, buf361, 605184, grid=(1, 2, 3), stream=0)
    buf362 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_362]
    launch(kernel_362, buf362, 605184, grid=(1, 2, 3), stream=0)
    buf363 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_363]
    launch(kernel_363, buf363, 605184, grid=(1, 2, 3), stream=0)
    buf364 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_364]
    launch(kernel_364, buf364, 605184, grid=(1, 2, 3), stream=0)
    buf365 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_365]
    launch(kernel_365, buf365, 605184, grid=(1, 2, 3), stream=0)
    buf366 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_366]
    launch(kernel_366, buf366, 605184, grid=(1, 2, 3), stream=0)
    buf367 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_367]
    launch(kernel_367, buf367, 605184, grid=(1, 2, 3), stream=0)
    buf368 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_368]
    launch(kernel_368, buf368, 605184, grid=(1, 2, 3), stream=0)
    buf369 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_369]
    launch(kernel_369, buf369, 605184, grid=(1, 2, 3), stream=0)
    buf370 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_370]
    launch(kernel_370, buf370, 605184, grid=(1, 2, 3), stream=0)
    buf371 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_371]
    launch(kernel_371, buf371, 605184, grid=(1, 2, 3), stream=0)
    buf372 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_372]
    launch(kernel_372, buf372, 605184, grid=(1, 2, 3), stream=0)
    buf373 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_373]
    launch(kernel_373, buf373, 605184, grid=(1, 2, 3), stream=0)
    buf374 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_374]
    launch(kernel_374, buf374, 605184, grid=(1, 2, 3), stream=0)
    buf375 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_375]
    launch(kernel_375, buf375, 605184, grid=(1, 2, 3), stream=0)
    buf376 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_376]
    launch(kernel_376, buf376, 605184, grid=(1, 2, 3), stream=0)
    buf377 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_377]
    launch(kernel_377, buf377, 605184, grid=(1, 2, 3), stream=0)
    buf378 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_378]
    launch(kernel_378, buf378, 605184, grid=(1, 2, 3), stream=0)
    buf379 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_379]
    launch(kernel_379, buf379, 605184, grid=(1, 2, 3), stream=0)
    buf380 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_380]
    launch(kernel_380, buf380, 605184, grid=(1, 2, 3), stream=0)
    buf381 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_381]
    launch(kernel_381, buf381, 605184, grid=(1, 2, 3), stream=0)
    buf382 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_382]
    launch(kernel_382, buf382, 605184, grid=(1, 2, 3), stream=0)
    buf383 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_383]
    launch(kernel_383, buf383, 605184, grid=(1, 2, 3), stream=0)
    buf384 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_384]
    launch(kernel_384, buf384, 605184, grid=(1, 2, 3), stream=0)
    buf385 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_385]
    launch(kernel_385, buf385, 605184, grid=(1, 2, 3), stream=0)
    buf386 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_386]
    launch(kernel_386, buf386, 605184, grid=(1, 2, 3), stream=0)
    buf387 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_387]
    launch(kernel_387, buf387, 605184, grid=(1, 2, 3), stream=0)
    buf388 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_388]
    launch(kernel_388, buf388, 605184, grid=(1, 2, 3), stream=0)
    buf389 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_389]
    launch(kernel_389, buf389, 605184, grid=(1, 2, 3), stream=0)
    buf390 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_390]
    launch(kernel_390, buf390, 605184, grid=(1, 2, 3), stream=0)
    buf391 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_391]
    launch(kernel_391, buf391, 605184, grid=(1, 2, 3), stream=0)
    buf392 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_392]
    launch(kernel_392, buf392, 605184, grid=(1, 2, 3), stream=0)
    buf393 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_393]
    launch(kernel_393, buf393, 605184, grid=(1, 2, 3), stream=0)
    buf394 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_394]
    launch(kernel_394, buf394, 605184, grid=(1, 2, 3), stream=0)
    buf395 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_395]
    launch(kernel_395, buf395, 605184, grid=(1, 2, 3), stream=0)
    buf396 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_396]
    launch(kernel_396, buf396, 605184, grid=(1, 2, 3), stream=0)
    buf397 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_397]
    launch(kernel_397, buf397, 605184, grid=(1, 2, 3), stream=0)
    buf398 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_398]
    launch(kernel_398, buf398, 605184, grid=(1, 2, 3), stream=0)
    buf399 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_399]
    launch(kernel_399, buf399, 605184, grid=(1, 2, 3), stream=0)
    buf400 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_400]
    launch(kernel_400, buf400, 605184, grid=(1, 2, 3), stream=0)
    buf401 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_401]
    launch(kernel_401, buf401, 605184, grid=(1, 2, 3), stream=0)
    buf402 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_402]
    launch(kernel_402, buf402, 605184, grid=(1, 2, 3), stream=0)
    buf403 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_403]
    launch(kernel_403, buf403, 605184, grid=(1, 2, 3), stream=0)
    buf404 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_404]
    launch(kernel_404, buf404, 605184, grid=(1, 2, 3), stream=0)
    buf405 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_405]
    launch(kernel_405, buf405, 605184, grid=(1, 2, 3), stream=0)
    buf406 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_406]
    launch(kernel_406, buf406, 605184, grid=(1, 2, 3), stream=0)
    buf407 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_407]
    launch(kernel_407, buf407, 605184, grid=(1, 2, 3), stream=0)
    buf408 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_408]
    launch(kernel_408, buf408, 605184, grid=(1, 2, 3), stream=0)
    buf409 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_409]
    launch(kernel_409, buf409, 605184, grid=(1, 2, 3), stream=0)
    buf410 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_410]
    launch(kernel_410, buf410, 605184, grid=(1, 2, 3), stream=0)
    buf411 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_411]
    launch(kernel_411, buf411, 605184, grid=(1, 2, 3), stream=0)
    buf412 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_412]
    launch(kernel_412, buf412, 605184, grid=(1, 2, 3), stream=0)
    buf413 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_413]
    launch(kernel_413, buf413, 605184, grid=(1, 2, 3), stream=0)
    buf414 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_414]
    launch(kernel_414, buf414, 605184, grid=(1, 2, 3), stream=0)
    buf415 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_415]
    launch(kernel_415, buf415, 605184, grid=(1, 2, 3), stream=0)
    buf416 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_416]
    launch(kernel_416, buf416, 605184, grid=(1, 2, 3), stream=0)
    buf417 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_417]
    launch(kernel_417, buf417, 605184, grid=(1, 2, 3), stream=0)
    buf418 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_418]
    launch(kernel_418, buf418, 605184, grid=(1, 2, 3), stream=0)
    buf419 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_419]
    launch(kernel_419, buf419, 605184, grid=(1, 2, 3), stream=0)
    buf420 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_420]
    launch(kernel_420, buf420, 605184, grid=(1, 2, 3), stream=0)
    buf421 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_421]
    launch(kernel_421, buf421, 605184, grid=(1, 2, 3), stream=0)
    buf422 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_422]
    launch(kernel_422, buf422, 605184, grid=(1, 2, 3), stream=0)
    buf423 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_423]
    launch(kernel_423, buf423, 605184, grid=(1, 2, 3), stream=0)
    buf424 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_424]
    launch(kernel_424, buf424, 605184, grid=(1, 2, 3), stream=0)
    buf425 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_425]
    launch(kernel_425, buf425, 605184, grid=(1, 2, 3), stream=0)
    buf426 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_426]
    launch(kernel_426, buf426, 605184, grid=(1, 2, 3), stream=0)
    buf427 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_427]
    launch(kernel_427, buf427, 605184, grid=(1, 2, 3), stream=0)
    buf428 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_428]
    launch(kernel_428, buf428, 605184, grid=(1, 2, 3), stream=0)
    buf429 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_429]
    launch(kernel_429, buf429, 605184, grid=(1, 2, 3), stream=0)
    buf430 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_430]
    launch(kernel_430, buf430, 605184, grid=(1, 2, 3), stream=0)
    buf431 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_431]
    launch(kernel_431, buf431, 605184, grid=(1, 2, 3), stream=0)
    buf432 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_432]
    launch(kernel_432, buf432, 605184, grid=(1, 2, 3), stream=0)
    buf433 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_433]
    launch(kernel_433, buf433, 605184, grid=(1, 2, 3), stream=0)
    buf434 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_434]
    launch(kernel_434, buf434, 605184, grid=(1, 2, 3), stream=0)
    buf435 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_435]
    launch(kernel_435, buf435, 605184, grid=(1, 2, 3), stream=0)
    buf436 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_436]
    launch(kernel_436, buf436, 605184, grid=(1, 2, 3), stream=0)
    buf437 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_437]
    launch(kernel_437, buf437, 605184, grid=(1, 2, 3), stream=0)
    buf438 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_438]
    launch(kernel_438, buf438, 605184, grid=(1, 2, 3), stream=0)
    buf439 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_439]
    launch(kernel_439, buf439, 605184, grid=(1, 2, 3), stream=0)
    buf440 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_440]
    launch(kernel_440, buf440, 605184, grid=(1, 2, 3), stream=0)
    buf441 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_441]
    launch(kernel_441, buf441, 605184, grid=(1, 2, 3), stream=0)
    buf442 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_442]
    launch(kernel_442, buf442, 605184, grid=(1, 2, 3), stream=0)
    buf443 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_443]
    launch(kernel_443, buf443, 605184, grid=(1, 2, 3), stream=0)
    buf444 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_444]
    launch(kernel_444, buf444, 605184, grid=(1, 2, 3), stream=0)
    buf445 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_445]
    launch(kernel_445, buf445, 605184, grid=(1, 2, 3), stream=0)
    buf446 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_446]
    launch(kernel_446, buf446, 605184, grid=(1, 2, 3), stream=0)
    buf447 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_447]
    launch(kernel_447, buf447, 605184, grid=(1, 2, 3), stream=0)
    buf448 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_448]
    launch(kernel_448, buf448, 605184, grid=(1, 2, 3), stream=0)
    buf449 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_449]
    launch(kernel_449, buf449, 605184, grid=(1, 2, 3), stream=0)
    buf450 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_450]
    launch(kernel_450, buf450, 605184, grid=(1, 2, 3), stream=0)
    buf451 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_451]
    launch(kernel_451, buf451, 605184, grid=(1, 2, 3), stream=0)
    buf452 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_452]
    launch(kernel_452, buf452, 605184, grid=(1, 2, 3), stream=0)
    buf453 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_453]
    launch(kernel_453, buf453, 605184, grid=(1, 2, 3), stream=0)
    buf454 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_454]
    launch(kernel_454, buf454, 605184, grid=(1, 2, 3), stream=0)
    buf455 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_455]
    launch(kernel_455, buf455, 605184, grid=(1, 2, 3), stream=0)
    buf456 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_456]
    launch(kernel_456, buf456, 605184, grid=(1, 2, 3), stream=0)
    buf457 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_457]
    launch(kernel_457, buf457, 605184, grid=(1, 2, 3), stream=0)
    buf458 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_458]
    launch(kernel_458, buf458, 605184, grid=(1, 2, 3), stream=0)
    buf459 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_459]
    launch(kernel_459, buf459, 605184, grid=(1, 2, 3), stream=0)
    buf460 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_460]
    launch(kernel_460, buf460, 605184, grid=(1, 2, 3), stream=0)
    buf461 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_461]
    launch(kernel_461, buf461, 605184, grid=(1, 2, 3), stream=0)
    buf462 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_462]
    launch(kernel_462, buf462, 605184, grid=(1, 2, 3), stream=0)
    buf463 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_463]
    launch(kernel_463, buf463, 605184, grid=(1, 2, 3), stream=0)
    buf464 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_464]
    launch(kernel_464, buf464, 605184, grid=(1, 2, 3), stream=0)
    buf465 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_465]
    launch(kernel_465, buf465, 605184, grid=(1, 2, 3), stream=0)
    buf466 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_466]
    launch(kernel_466, buf466, 605184, grid=(1, 2, 3), stream=0)
    buf467 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_467]
    launch(kernel_467, buf467, 605184, grid=(1, 2, 3), stream=0)
    buf468 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_468]
    launch(kernel_468, buf468, 605184, grid=(1, 2, 3), stream=0)
    buf469 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_469]
    launch(kernel_469, buf469, 605184, grid=(1, 2, 3), stream=0)
    buf470 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_470]
    launch(kernel_470, buf470, 605184, grid=(1, 2, 3), stream=0)
    buf471 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_471]
    launch(kernel_471, buf471, 605184, grid=(1, 2, 3), stream=0)
    buf472 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_472]
    launch(kernel_472, buf472, 605184, grid=(1, 2, 3), stream=0)
    buf473 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_473]
    launch(kernel_473, buf473, 605184, grid=(1, 2, 3), stream=0)
    buf474 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_474]
    launch(kernel_474, buf474, 605184, grid=(1, 2, 3), stream=0)
    buf475 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_475]
    launch(kernel_475, buf475, 605184, grid=(1, 2, 3), stream=0)
    buf476 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_476]
    launch(kernel_476, buf476, 605184, grid=(1, 2, 3), stream=0)
    buf477 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_477]
    launch(kernel_477, buf477, 605184, grid=(1, 2, 3), stream=0)
    buf478 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_478]
    launch(kernel_478, buf478, 605184, grid=(1, 2, 3), stream=0)
    buf479 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_479]
    launch(kernel_479, buf479, 605184, grid=(1, 2, 3), stream=0)
    buf480 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_480]
    launch(kernel_480, buf480, 605184, grid=(1, 2, 3), stream=0)
    buf481 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_481]
    launch(kernel_481, buf481, 605184, grid=(1, 2, 3), stream=0)
    buf482 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_482]
    launch(kernel_482, buf482, 605184, grid=(1, 2, 3), stream=0)
    buf483 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_483]
    launch(kernel_483, buf483, 605184, grid=(1, 2, 3), stream=0)
    buf484 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_484]
    launch(kernel_484, buf484, 605184, grid=(1, 2, 3), stream=0)
    buf485 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_485]
    launch(kernel_485, buf485, 605184, grid=(1, 2, 3), stream=0)
    buf486 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_486]
    launch(kernel_486, buf486, 605184, grid=(1, 2, 3), stream=0)
    buf487 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_487]
    launch(kernel_487, buf487, 605184, grid=(1, 2, 3), stream=0)
    buf488 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_488]
    launch(kernel_488, buf488, 605184, grid=(1, 2, 3), stream=0)
    buf489 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_489]
    launch(kernel_489, buf489, 605184, grid=(1, 2, 3), stream=0)
    buf490 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_490]
    launch(kernel_490, buf490, 605184, grid=(1, 2, 3), stream=0)
    buf491 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_491]
    launch(kernel_491, buf491, 605184, grid=(1, 2, 3), stream=0)
    buf492 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_492]
    launch(kernel_492, buf492, 605184, grid=(1, 2, 3), stream=0)
    buf493 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_493]
    launch(kernel_493, buf493, 605184, grid=(1, 2, 3), stream=0)
    buf494 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_494]
    launch(kernel_494, buf494, 605184, grid=(1, 2, 3), stream=0)
    buf495 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_495]
    launch(kernel_495, buf495, 605184, grid=(1, 2, 3), stream=0)
    buf496 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_496]
    launch(kernel_496, buf496, 605184, grid=(1, 2, 3), stream=0)
    buf497 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_497]
    launch(kernel_497, buf497, 605184, grid=(1, 2, 3), stream=0)
    buf498 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_498]
    launch(kernel_498, buf498, 605184, grid=(1, 2, 3), stream=0)
    buf499 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_499]
    launch(kernel_499, buf499, 605184, grid=(1, 2, 3), stream=0)
    buf500 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_500]
    launch(kernel_500, buf500, 605184, grid=(1, 2, 3), stream=0)
    buf501 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_501]
    launch(kernel_501, buf501, 605184, grid=(1, 2, 3), stream=0)
    buf502 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_502]
    launch(kernel_502, buf502, 605184, grid=(1, 2, 3), stream=0)
    buf503 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_503]
    launch(kernel_503, buf503, 605184, grid=(1, 2, 3), stream=0)
    buf504 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_504]
    launch(kernel_504, buf504, 605184, grid=(1, 2, 3), stream=0)
    buf505 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_505]
    launch(kernel_505, buf505, 605184, grid=(1, 2, 3), stream=0)
    buf506 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_506]
    launch(kernel_506, buf506, 605184, grid=(1, 2, 3), stream=0)
    buf507 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_507]
    launch(kernel_507, buf507, 605184, grid=(1, 2, 3), stream=0)
    buf508 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_508]
    launch(kernel_508, buf508, 605184, grid=(1, 2, 3), stream=0)
    buf509 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_509]
    launch(kernel_509, buf509, 605184, grid=(1, 2, 3), stream=0)
    buf510 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_510]
    launch(kernel_510, buf510, 605184, grid=(1, 2, 3), stream=0)
    buf511 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_511]
    launch(kernel_511, buf511, 605184, grid=(1, 2, 3), stream=0)
    buf512 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_512]
    launch(kernel_512, buf512, 605184, grid=(1, 2, 3), stream=0)
    buf513 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_513]
    launch(kernel_513, buf513, 605184, grid=(1, 2, 3), stream=0)
    buf514 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_514]
    launch(kernel_514, buf514, 605184, grid=(1, 2, 3), stream=0)
    buf515 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_515]
    launch(kernel_515, buf515, 605184, grid=(1, 2, 3), stream=0)
    buf516 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_516]
    launch(kernel_516, buf516, 605184, grid=(1, 2, 3), stream=0)
    buf517 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_517]
    launch(kernel_517, buf517, 605184, grid=(1, 2, 3), stream=0)
    buf518 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_518]
    launch(kernel_518, buf518, 605184, grid=(1, 2, 3), stream=0)
    buf519 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_519]
    launch(kernel_519, buf519, 605184, grid=(1, 2, 3), stream=0)
    buf520 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_520]
    launch(kernel_520, buf520, 605184, grid=(1, 2, 3), stream=0)
    buf521 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_521]
    launch(kernel_521, buf521, 605184, grid=(1, 2, 3), stream=0)
    buf522 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_522]
    launch(kernel_522, buf522, 605184, grid=(1, 2, 3), stream=0)
    buf523 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_523]
    launch(kernel_523, buf523, 605184, grid=(1, 2, 3), stream=0)
    buf524 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_524]
    launch(kernel_524, buf524, 605184, grid=(1, 2, 3), stream=0)
    buf525 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_525]
    launch(kernel_525, buf525, 605184, grid=(1, 2, 3), stream=0)
    buf526 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_526]
    launch(kernel_526, buf526, 605184, grid=(1, 2, 3), stream=0)
    buf527 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_527]
    launch(kernel_527, buf527, 605184, grid=(1, 2, 3), stream=0)
    buf528 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_528]
    launch(kernel_528, buf528, 605184, grid=(1, 2, 3), stream=0)
    buf529 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_529]
    launch(kernel_529, buf529, 605184, grid=(1, 2, 3), stream=0)
    buf530 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_530]
    launch(kernel_530, buf530, 605184, grid=(1, 2, 3), stream=0)
    buf531 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_531]
    launch(kernel_531, buf531, 605184, grid=(1, 2, 3), stream=0)
    buf532 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_532]
    launch(kernel_532, buf532, 605184, grid=(1, 2, 3), stream=0)
    buf533 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_533]
    launch(kernel_533, buf533, 605184, grid=(1, 2, 3), stream=0)
    buf534 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_534]
    launch(kernel_534, buf534, 605184, grid=(1, 2, 3), stream=0)
    buf535 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_535]
    launch(kernel_535, buf535, 605184, grid=(1, 2, 3), stream=0)
    buf536 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_536]
    launch(kernel_536, buf536, 605184, grid=(1, 2, 3), stream=0)
    buf537 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_537]
    launch(kernel_537, buf537, 605184, grid=(1, 2, 3), stream=0)
    buf538 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_538]
    launch(kernel_538, buf538, 605184, grid=(1, 2, 3), stream=0)
    buf539 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_539]
    launch(kernel_539, buf539, 605184, grid=(1, 2, 3), stream=0)
    buf540 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_540]
    launch(kernel_540, buf540, 605184, grid=(1, 2, 3), stream=0)
    buf541 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_541]
    launch(kernel_541, buf541, 605184, grid=(1, 2, 3), stream=0)
    buf542 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_542]
    launch(kernel_542, buf542, 605184, grid=(1, 2, 3), stream=0)
    buf543 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_543]
    launch(kernel_543, buf543, 605184, grid=(1, 2, 3), stream=0)
    buf544 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_544]
    launch(kernel_544, buf544, 605184, grid=(1, 2, 3), stream=0)
    buf545 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_545]
    launch(kernel_545, buf545, 605184, grid=(1, 2, 3), stream=0)
    buf546 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_546]
    launch(kernel_546, buf546, 605184, grid=(1, 2, 3), stream=0)
    buf547 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_547]
    launch(kernel_547, buf547, 605184, grid=(1, 2, 3), stream=0)
    buf548 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_548]
    launch(kernel_548, buf548, 605184, grid=(1, 2, 3), stream=0)
    buf549 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_549]
    launch(kernel_549, buf549, 605184, grid=(1, 2, 3), stream=0)
    buf550 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_550]
    launch(kernel_550, buf550, 605184, grid=(1, 2, 3), stream=0)
    buf551 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_551]
    launch(kernel_551, buf551, 605184, grid=(1, 2, 3), stream=0)
    buf552 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_552]
    launch(kernel_552, buf552, 605184, grid=(1, 2, 3), stream=0)
    buf553 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_553]
    launch(kernel_553, buf553, 605184, grid=(1, 2, 3), stream=0)
    buf554 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_554]
    launch(kernel_554, buf554, 605184, grid=(1, 2, 3), stream=0)
    buf555 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_555]
    launch(kernel_555, buf555, 605184, grid=(1, 2, 3), stream=0)
    buf556 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_556]
    launch(kernel_556, buf556, 605184, grid=(1, 2, 3), stream=0)
    buf557 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_557]
    launch(kernel_557, buf557, 605184, grid=(1, 2, 3), stream=0)
    buf558 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_558]
    launch(kernel_558, buf558, 605184, grid=(1, 2, 3), stream=0)
    buf559 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_559]
    launch(kernel_559, buf559, 605184, grid=(1, 2, 3), stream=0)
    buf560 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_560]
    launch(kernel_560, buf560, 605184, grid=(1, 2, 3), stream=0)
    buf561 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_561]
    launch(kernel_561, buf561, 605184, grid=(1, 2, 3), stream=0)
    buf562 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_562]
    launch(kernel_562, buf562, 605184, grid=(1, 2, 3), stream=0)
    buf563 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_563]
    launch(kernel_563, buf563, 605184, grid=(1, 2, 3), stream=0)
    buf564 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_564]
    launch(kernel_564, buf564, 605184, grid=(1, 2, 3), stream=0)
    buf565 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_565]
    launch(kernel_565, buf565, 605184, grid=(1, 2, 3), stream=0)
    buf566 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_566]
    launch(kernel_566, buf566, 605184, grid=(1, 2, 3), stream=0)
    buf567 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_567]
    launch(kernel_567, buf567, 605184, grid=(1, 2, 3), stream=0)
    buf568 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_568]
    launch(kernel_568, buf568, 605184, grid=(1, 2, 3), stream=0)
    buf569 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_569]
    launch(kernel_569, buf569, 605184, grid=(1, 2, 3), stream=0)
    buf570 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_570]
    launch(kernel_570, buf570, 605184, grid=(1, 2, 3), stream=0)
    buf571 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_571]
    launch(kernel_571, buf571, 605184, grid=(1, 2, 3), stream=0)
    buf572 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_572]
    launch(kernel_572, buf572, 605184, grid=(1, 2, 3), stream=0)
    buf573 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_573]
    launch(kernel_573, buf573, 605184, grid=(1, 2, 3), stream=0)
    buf574 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_574]
    launch(kernel_574, buf574, 605184, grid=(1, 2, 3), stream=0)
    buf575 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_575]
    launch(kernel_575, buf575, 605184, grid=(1, 2, 3), stream=0)
    buf576 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_576]
    launch(kernel_576, buf576, 605184, grid=(1, 2, 3), stream=0)
    buf577 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_577]
    launch(kernel_577, buf577, 605184, grid=(1, 2, 3), stream=0)
    buf578 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_578]
    launch(kernel_578, buf578, 605184, grid=(1, 2, 3), stream=0)
    buf579 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_579]
    launch(kernel_579, buf579, 605184, grid=(1, 2, 3), stream=0)
    buf580 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_580]
    launch(kernel_580, buf580, 605184, grid=(1, 2, 3), stream=0)
    buf581 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_581]
    launch(kernel_581, buf581, 605184, grid=(1, 2, 3), stream=0)
    buf582 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_582]
    launch(kernel_582, buf582, 605184, grid=(1, 2, 3), stream=0)
    buf583 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_583]
    launch(kernel_583, buf583, 605184, grid=(1, 2, 3), stream=0)
    buf584 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_584]
    launch(kernel_584, buf584, 605184, grid=(1, 2, 3), stream=0)
    buf585 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_585]
    launch(kernel_585, buf585, 605184, grid=(1, 2, 3), stream=0)
    buf586 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_586]
    launch(kernel_586, buf586, 605184, grid=(1, 2, 3), stream=0)
    buf587 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_587]
    launch(kernel_587, buf587, 605184, grid=(1, 2, 3), stream=0)
    buf588 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_588]
    launch(kernel_588, buf588, 605184, grid=(1, 2, 3), stream=0)
    buf589 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_589]
    launch(kernel_589, buf589, 605184, grid=(1, 2, 3), stream=0)
    buf590 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_590]
    launch(kernel_590, buf590, 605184, grid=(1, 2, 3), stream=0)
    buf591 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_591]
    launch(kernel_591, buf591, 605184, grid=(1, 2, 3), stream=0)
    buf592 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_592]
    launch(kernel_592, buf592, 605184, grid=(1, 2, 3), stream=0)
    buf593 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_593]
    launch(kernel_593, buf593, 605184, grid=(1, 2, 3), stream=0)
    buf594 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_594]
    launch(kernel_594, buf594, 605184, grid=(1, 2, 3), stream=0)
    buf595 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_595]
    launch(kernel_595, buf595, 605184, grid=(1, 2, 3), stream=0)
    buf596 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_596]
    launch(kernel_596, buf596, 605184, grid=(1, 2, 3), stream=0)
    buf597 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_597]
    launch(kernel_597, buf597, 605184, grid=(1, 2, 3), stream=0)
    buf598 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_598]
    launch(kernel_598, buf598, 605184, grid=(1, 2, 3), stream=0)
    buf599 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_599]
    launch(kernel_599, buf599, 605184, grid=(1, 2, 3), stream=0)
    buf600 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_600]
    launch(kernel_600, buf600, 605184, grid=(1, 2, 3), stream=0)
    buf601 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_601]
    launch(kernel_601, buf601, 605184, grid=(1, 2, 3), stream=0)
    buf602 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_602]
    launch(kernel_602, buf602, 605184, grid=(1, 2, 3), stream=0)
    buf603 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_603]
    launch(kernel_603, buf603, 605184, grid=(1, 2, 3), stream=0)
    buf604 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_604]
    launch(kernel_604, buf604, 605184, grid=(1, 2, 3), stream=0)
    buf605 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_605]
    launch(kernel_605, buf605, 605184, grid=(1, 2, 3), stream=0)
    buf606 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_606]
    launch(kernel_606, buf606, 605184, grid=(1, 2, 3), stream=0)
    buf607 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_607]
    launch(kernel_607, buf607, 605184, grid=(1, 2, 3), stream=0)
    buf608 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_608]
    launch(kernel_608, buf608, 605184, grid=(1, 2, 3), stream=0)
    buf609 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_609]
    launch(kernel_609, buf609, 605184, grid=(1, 2, 3), stream=0)
    buf610 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_610]
    launch(kernel_610, buf610, 605184, grid=(1, 2, 3), stream=0)
    buf611 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_611]
    launch(kernel_611, buf611, 605184, grid=(1, 2, 3), stream=0)
    buf612 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_612]
    launch(kernel_612, buf612, 605184, grid=(1, 2, 3), stream=0)
    buf613 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_613]
    launch(kernel_613, buf613, 605184, grid=(1, 2, 3), stream=0)
    buf614 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_614]
    launch(kernel_614, buf614, 605184, grid=(1, 2, 3), stream=0)
    buf615 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_615]
    launch(kernel_615, buf615, 605184, grid=(1, 2, 3), stream=0)
    buf616 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_616]
    launch(kernel_616, buf616, 605184, grid=(1, 2, 3), stream=0)
    buf617 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_617]
    launch(kernel_617, buf617, 605184, grid=(1, 2, 3), stream=0)
    buf618 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_618]
    launch(kernel_618, buf618, 605184, grid=(1, 2, 3), stream=0)
    buf619 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_619]
    launch(kernel_619, buf619, 605184, grid=(1, 2, 3), stream=0)
    buf620 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_620]
    launch(kernel_620, buf620, 605184, grid=(1, 2, 3), stream=0)
    buf621 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_621]
    launch(kernel_621, buf621, 605184, grid=(1, 2, 3), stream=0)
    buf622 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_622]
    launch(kernel_622, buf622, 605184, grid=(1, 2, 3), stream=0)
    buf623 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_623]
    launch(kernel_623, buf623, 605184, grid=(1, 2, 3), stream=0)
    buf624 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_624]
    launch(kernel_624, buf624, 605184, grid=(1, 2, 3), stream=0)
    buf625 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_625]
    launch(kernel_625, buf625, 605184, grid=(1, 2, 3), stream=0)
    buf626 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_626]
    launch(kernel_626, buf626, 605184, grid=(1, 2, 3), stream=0)
    buf627 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_627]
    launch(kernel_627, buf627, 605184, grid=(1, 2, 3), stream=0)
    buf628 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_628]
    launch(kernel_628, buf628, 605184, grid=(1, 2, 3), stream=0)
    buf629 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_629]
    launch(kernel_629, buf629, 605184, grid=(1, 2, 3), stream=0)
    buf630 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_630]
    launch(kernel_630, buf630, 605184, grid=(1, 2, 3), stream=0)
    buf631 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_631]
    launch(kernel_631, buf631, 605184, grid=(1, 2, 3), stream=0)
    buf632 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_632]
    launch(kernel_632, buf632, 605184, grid=(1, 2, 3), stream=0)
    buf633 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_633]
    launch(kernel_633, buf633, 605184, grid=(1, 2, 3), stream=0)
    buf634 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_634]
    launch(kernel_634, buf634, 605184, grid=(1, 2, 3), stream=0)
    buf635 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_635]
    launch(kernel_635, buf635, 605184, grid=(1, 2, 3), stream=0)
    buf636 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_636]
    launch(kernel_636, buf636, 605184, grid=(1, 2, 3), stream=0)
    buf637 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_637]
    launch(kernel_637, buf637, 605184, grid=(1, 2, 3), stream=0)
    buf638 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_638]
    launch(kernel_638, buf638, 605184, grid=(1, 2, 3), stream=0)
    buf639 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_639]
    launch(kernel_639, buf639, 605184, grid=(1, 2, 3), stream=0)
    buf640 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_640]
    launch(kernel_640, buf640, 605184, grid=(1, 2, 3), stream=0)
    buf641 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_641]
    launch(kernel_641, buf641, 605184, grid=(1, 2, 3), stream=0)
    buf642 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_642]
    launch(kernel_642, buf642, 605184, grid=(1, 2, 3), stream=0)
    buf643 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_643]
    launch(kernel_643, buf643, 605184, grid=(1, 2, 3), stream=0)
    buf644 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_644]
    launch(kernel_644, buf644, 605184, grid=(1, 2, 3), stream=0)
    buf645 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_645]
    launch(kernel_645, buf645, 605184, grid=(1, 2, 3), stream=0)
    buf646 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_646]
    launch(kernel_646, buf646, 605184, grid=(1, 2, 3), stream=0)
    buf647 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_647]
    launch(kernel_647, buf647, 605184, grid=(1, 2, 3), stream=0)
    buf648 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_648]
    launch(kernel_648, buf648, 605184, grid=(1, 2, 3), stream=0)
    buf649 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_649]
    launch(kernel_649, buf649, 605184, grid=(1, 2, 3), stream=0)
    buf650 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_650]
    launch(kernel_650, buf650, 605184, grid=(1, 2, 3), stream=0)
    buf651 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_651]
    launch(kernel_651, buf651, 605184, grid=(1, 2, 3), stream=0)
    buf652 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_652]
    launch(kernel_652, buf652, 605184, grid=(1, 2, 3), stream=0)
    buf653 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_653]
    launch(kernel_653, buf653, 605184, grid=(1, 2, 3), stream=0)
    buf654 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_654]
    launch(kernel_654, buf654, 605184, grid=(1, 2, 3), stream=0)
    buf655 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_655]
    launch(kernel_655, buf655, 605184, grid=(1, 2, 3), stream=0)
    buf656 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_656]
    launch(kernel_656, buf656, 605184, grid=(1, 2, 3), stream=0)
    buf657 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_657]
    launch(kernel_657, buf657, 605184, grid=(1, 2, 3), stream=0)
    buf658 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_658]
    launch(kernel_658, buf658, 605184, grid=(1, 2, 3), stream=0)
    buf659 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_659]
    launch(kernel_659, buf659, 605184, grid=(1, 2, 3), stream=0)
    buf660 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_660]
    launch(kernel_660, buf660, 605184, grid=(1, 2, 3), stream=0)
    buf661 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_661]
    launch(kernel_661, buf661, 605184, grid=(1, 2, 3), stream=0)
    buf662 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_662]
    launch(kernel_662, buf662, 605184, grid=(1, 2, 3), stream=0)
    buf663 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_663]
    launch(kernel_663, buf663, 605184, grid=(1, 2, 3), stream=0)
    buf664 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_664]
    launch(kernel_664, buf664, 605184, grid=(1, 2, 3), stream=0)
    buf665 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_665]
    launch(kernel_665, buf665, 605184, grid=(1, 2, 3), stream=0)
    buf666 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_666]
    launch(kernel_666, buf666, 605184, grid=(1, 2, 3), stream=0)
    buf667 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_667]
    launch(kernel_667, buf667, 605184, grid=(1, 2, 3), stream=0)
    buf668 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_668]
    launch(kernel_668, buf668, 605184, grid=(1, 2, 3), stream=0)
    buf669 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_669]
    launch(kernel_669, buf669, 605184, grid=(1, 2, 3), stream=0)
    buf670 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_670]
    launch(kernel_670, buf670, 605184, grid=(1, 2, 3), stream=0)
    buf671 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_671]
    launch(kernel_671, buf671, 605184, grid=(1, 2, 3), stream=0)
    buf672 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_672]
    launch(kernel_672, buf672, 605184, grid=(1, 2, 3), stream=0)
    buf673 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_673]
    launch(kernel_673, buf673, 605184, grid=(1, 2, 3), stream=0)
    buf674 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_674]
    launch(kernel_674, buf674, 605184, grid=(1, 2, 3), stream=0)
    buf675 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_675]
    launch(kernel_675, buf675, 605184, grid=(1, 2, 3), stream=0)
    buf676 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_676]
    launch(kernel_676, buf676, 605184, grid=(1, 2, 3), stream=0)
    buf677 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_677]
    launch(kernel_677, buf677, 605184, grid=(1, 2, 3), stream=0)
    buf678 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_678]
    launch(kernel_678, buf678, 605184, grid=(1, 2, 3), stream=0)
    buf679 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_679]
    launch(kernel_679, buf679, 605184, grid=(1, 2, 3), stream=0)
    buf680 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_680]
    launch(kernel_680, buf680, 605184, grid=(1, 2, 3), stream=0)
    buf681 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_681]
    launch(kernel_681, buf681, 605184, grid=(1, 2, 3), stream=0)
    buf682 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_682]
    launch(kernel_682, buf682, 605184, grid=(1, 2, 3), stream=0)
    buf683 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_683]
    launch(kernel_683, buf683, 605184, grid=(1, 2, 3), stream=0)
    buf684 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_684]
    launch(kernel_684, buf684, 605184, grid=(1, 2, 3), stream=0)
    buf685 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_685]
    launch(kernel_685, buf685, 605184, grid=(1, 2, 3), stream=0)
    buf686 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_686]
    launch(kernel_686, buf686, 605184, grid=(1, 2, 3), stream=0)
    buf687 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_687]
    launch(kernel_687, buf687, 605184, grid=(1, 2, 3), stream=0)
    buf688 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_688]
    launch(kernel_688, buf688, 605184, grid=(1, 2, 3), stream=0)
    buf689 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_689]
    launch(kernel_689, buf689, 605184, grid=(1, 2, 3), stream=0)
    buf690 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_690]
    launch(kernel_690, buf690, 605184, grid=(1, 2, 3), stream=0)
    buf691 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_691]
    launch(kernel_691, buf691, 605184, grid=(1, 2, 3), stream=0)
    buf692 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_692]
    launch(kernel_692, buf692, 605184, grid=(1, 2, 3), stream=0)
    buf693 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_693]
    launch(kernel_693, buf693, 605184, grid=(1, 2, 3), stream=0)
    buf694 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_694]
    launch(kernel_694, buf694, 605184, grid=(1, 2, 3), stream=0)
    buf695 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_695]
    launch(kernel_695, buf695, 605184, grid=(1, 2, 3), stream=0)
    buf696 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_696]
    launch(kernel_696, buf696, 605184, grid=(1, 2, 3), stream=0)
    buf697 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_697]
    launch(kernel_697, buf697, 605184, grid=(1, 2, 3), stream=0)
    buf698 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_698]
    launch(kernel_698, buf698, 605184, grid=(1, 2, 3), stream=0)
    buf699 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_699]
    launch(kernel_699, buf699, 605184, grid=(1, 2, 3), stream=0)
    buf700 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_700]
    launch(kernel_700, buf700, 605184, grid=(1, 2, 3), stream=0)
    buf701 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_701]
    launch(kernel_701, buf701, 605184, grid=(1, 2, 3), stream=0)
    buf702 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_702]
    launch(kernel_702, buf702, 605184, grid=(1, 2, 3), stream=0)
    buf703 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_703]
    launch(kernel_703, buf703, 605184, grid=(1, 2, 3), stream=0)
    buf704 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_704]
    launch(kernel_704, buf704, 605184, grid=(1, 2, 3), stream=0)
    buf705 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_705]
    launch(kernel_705, buf705, 605184, grid=(1, 2, 3), stream=0)
    buf706 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_706]
    launch(kernel_706, buf706, 605184, grid=(1, 2, 3), stream=0)
    buf707 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_707]
    launch(kernel_707, buf707, 605184, grid=(1, 2, 3), stream=0)
    buf708 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_708]
    launch(kernel_708, buf708, 605184, grid=(1, 2, 3), stream=0)
    buf709 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_709]
    launch(kernel_709, buf709, 605184, grid=(1, 2, 3), stream=0)
    buf710 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_710]
    launch(kernel_710, buf710, 605184, grid=(1, 2, 3), stream=0)
    buf711 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_711]
    launch(kernel_711, buf711, 605184, grid=(1, 2, 3), stream=0)
    buf712 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_712]
    launch(kernel_712, buf712, 605184, grid=(1, 2, 3), stream=0)
    buf713 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_713]
    launch(kernel_713, buf713, 605184, grid=(1, 2, 3), stream=0)
    buf714 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_714]
    launch(kernel_714, buf714, 605184, grid=(1, 2, 3), stream=0)
    buf715 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_715]
    launch(kernel_715, buf715, 605184, grid=(1, 2, 3), stream=0)
    buf716 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_716]
    launch(kernel_716, buf716, 605184, grid=(1, 2, 3), stream=0)
    buf717 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_717]
    launch(kernel_717, buf717, 605184, grid=(1, 2, 3), stream=0)
    buf718 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_718]
    launch(kernel_718, buf718, 605184, grid=(1, 2, 3), stream=0)
    buf719 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_719]
    launch(kernel_719, buf719, 605184, grid=(1, 2, 3), stream=0)
    buf720 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_720]
    launch(kernel_720, buf720, 605184, grid=(1, 2, 3), stream=0)
    buf721 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_721]
    launch(kernel_721, buf721, 605184, grid=(1, 2, 3), stream=0)
    buf722 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_722]
    launch(kernel_722, buf722, 605184, grid=(1, 2, 3), stream=0)
    buf723 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_723]
    launch(kernel_723, buf723, 605184, grid=(1, 2, 3), stream=0)
    buf724 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_724]
    launch(kernel_724, buf724, 605184, grid=(1, 2, 3), stream=0)
    buf725 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_725]
    launch(kernel_725, buf725, 605184, grid=(1, 2, 3), stream=0)
    buf726 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_726]
    launch(kernel_726, buf726, 605184, grid=(1, 2, 3), stream=0)
    buf727 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_727]
    launch(kernel_727, buf727, 605184, grid=(1, 2, 3), stream=0)
    buf728 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_728]
    launch(kernel_728, buf728, 605184, grid=(1, 2, 3), stream=0)
    buf729 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_729]
    launch(kernel_729, buf729, 605184, grid=(1, 2, 3), stream=0)
    buf730 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_730]
    launch(kernel_730, buf730, 605184, grid=(1, 2, 3), stream=0)
    buf731 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_731]
    launch(kernel_731, buf731, 605184, grid=(1, 2, 3), stream=0)
    buf732 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_732]
    launch(kernel_732, buf732, 605184, grid=(1, 2, 3), stream=0)
    buf733 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_733]
    launch(kernel_733, buf733, 605184, grid=(1, 2, 3), stream=0)
    buf734 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_734]
    launch(kernel_734, buf734, 605184, grid=(1, 2, 3), stream=0)
    buf735 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_735]
    launch(kernel_735, buf735, 605184, grid=(1, 2, 3), stream=0)
    buf736 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_736]
    launch(kernel_736, buf736, 605184, grid=(1, 2, 3), stream=0)
    buf737 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_737]
    launch(kernel_737, buf737, 605184, grid=(1, 2, 3), stream=0)
    buf738 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_738]
    launch(kernel_738, buf738, 605184, grid=(1, 2, 3), stream=0)
    buf739 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_739]
    launch(kernel_739, buf739, 605184, grid=(1, 2, 3), stream=0)
    buf740 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_740]
    launch(kernel_740, buf740, 605184, grid=(1, 2, 3), stream=0)
    buf741 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_741]
    launch(kernel_741, buf741, 605184, grid=(1, 2, 3), stream=0)
    buf742 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_742]
    launch(kernel_742, buf742, 605184, grid=(1, 2, 3), stream=0)
    buf743 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_743]
    launch(kernel_743, buf743, 605184, grid=(1, 2, 3), stream=0)
    buf744 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_744]
    launch(kernel_744, buf744, 605184, grid=(1, 2, 3), stream=0)
    buf745 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_745]
    launch(kernel_745, buf745, 605184, grid=(1, 2, 3), stream=0)
    buf746 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_746]
    launch(kernel_746, buf746, 605184, grid=(1, 2, 3), stream=0)
    buf747 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_747]
    launch(kernel_747, buf747, 605184, grid=(1, 2, 3), stream=0)
    buf748 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_748]
    launch(kernel_748, buf748, 605184, grid=(1, 2, 3), stream=0)
    buf749 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_749]
    launch(kernel_749, buf749, 605184, grid=(1, 2, 3), stream=0)
    buf750 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_750]
    launch(kernel_750, buf750, 605184, grid=(1, 2, 3), stream=0)
    buf751 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_751]
    launch(kernel_751, buf751, 605184, grid=(1, 2, 3), stream=0)
    buf752 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_752]
    launch(kernel_752, buf752, 605184, grid=(1, 2, 3), stream=0)
    buf753 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_753]
    launch(kernel_753, buf753, 605184, grid=(1, 2, 3), stream=0)
    buf754 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_754]
    launch(kernel_754, buf754, 605184, grid=(1, 2, 3), stream=0)
    buf755 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_755]
    launch(kernel_755, buf755, 605184, grid=(1, 2, 3), stream=0)
    buf756 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_756]
    launch(kernel_756, buf756, 605184, grid=(1, 2, 3), stream=0)
    buf757 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_757]
    launch(kernel_757, buf757, 605184, grid=(1, 2, 3), stream=0)
    buf758 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_758]
    launch(kernel_758, buf758, 605184, grid=(1, 2, 3), stream=0)
    buf759 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_759]
    launch(kernel_759, buf759, 605184, grid=(1, 2, 3), stream=0)
    buf760 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_760]
    launch(kernel_760, buf760, 605184, grid=(1, 2, 3), stream=0)
    buf761 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_761]
    launch(kernel_761, buf761, 605184, grid=(1, 2, 3), stream=0)
    buf762 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_762]
    launch(kernel_762, buf762, 605184, grid=(1, 2, 3), stream=0)
    buf763 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_763]
    launch(kernel_763, buf763, 605184, grid=(1, 2, 3), stream=0)
    buf764 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_764]
    launch(kernel_764, buf764, 605184, grid=(1, 2, 3), stream=0)
    buf765 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_765]
    launch(kernel_765, buf765, 605184, grid=(1, 2, 3), stream=0)
    buf766 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_766]
    launch(kernel_766, buf766, 605184, grid=(1, 2, 3), stream=0)
    buf767 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_767]
    launch(kernel_767, buf767, 605184, grid=(1, 2, 3), stream=0)
    buf768 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_768]
    launch(kernel_768, buf768, 605184, grid=(1, 2, 3), stream=0)
    buf769 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_769]
    launch(kernel_769, buf769, 605184, grid=(1, 2, 3), stream=0)
    buf770 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_770]
    launch(kernel_770, buf770, 605184, grid=(1, 2, 3), stream=0)
    buf771 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_771]
    launch(kernel_771, buf771, 605184, grid=(1, 2, 3), stream=0)
    buf772 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_772]
    launch(kernel_772, buf772, 605184, grid=(1, 2, 3), stream=0)
    buf773 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_773]
    launch(kernel_773, buf773, 605184, grid=(1, 2, 3), stream=0)
    buf774 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_774]
    launch(kernel_774, buf774, 605184, grid=(1, 2, 3), stream=0)
    buf775 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_775]
    launch(kernel_775, buf775, 605184, grid=(1, 2, 3), stream=0)
    buf776 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_776]
    launch(kernel_776, buf776, 605184, grid=(1, 2, 3), stream=0)
    buf777 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_777]
    launch(kernel_777, buf777, 605184, grid=(1, 2, 3), stream=0)
    buf778 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_778]
    launch(kernel_778, buf778, 605184, grid=(1, 2, 3), stream=0)
    buf779 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_779]
    launch(kernel_779, buf779, 605184, grid=(1, 2, 3), stream=0)
    buf780 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_780]
    launch(kernel_780, buf780, 605184, grid=(1, 2, 3), stream=0)
    buf781 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_781]
    launch(kernel_781, buf781, 605184, grid=(1, 2, 3), stream=0)
    buf782 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_782]
    launch(kernel_782, buf782, 605184, grid=(1, 2, 3), stream=0)
    buf783 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_783]
    launch(kernel_783, buf783, 605184, grid=(1, 2, 3), stream=0)
    buf784 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_784]
    launch(kernel_784, buf784, 605184, grid=(1, 2, 3), stream=0)
    buf785 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_785]
    launch(kernel_785, buf785, 605184, grid=(1, 2, 3), stream=0)
    buf786 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_786]
    launch(kernel_786, buf786, 605184, grid=(1, 2, 3), stream=0)
    buf787 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_787]
    launch(kernel_787, buf787, 605184, grid=(1, 2, 3), stream=0)
    buf788 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_788]
    launch(kernel_788, buf788, 605184, grid=(1, 2, 3), stream=0)
    buf789 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_789]
    launch(kernel_789, buf789, 605184, grid=(1, 2, 3), stream=0)
    buf790 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_790]
    launch(kernel_790, buf790, 605184, grid=(1, 2, 3), stream=0)
    buf791 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_791]
    launch(kernel_791, buf791, 605184, grid=(1, 2, 3), stream=0)
    buf792 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_792]
    launch(kernel_792, buf792, 605184, grid=(1, 2, 3), stream=0)
    buf793 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_793]
    launch(kernel_793, buf793, 605184, grid=(1, 2, 3), stream=0)
    buf794 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_794]
    launch(kernel_794, buf794, 605184, grid=(1, 2, 3), stream=0)
    buf795 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_795]
    launch(kernel_795, buf795, 605184, grid=(1, 2, 3), stream=0)
    buf796 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_796]
    launch(kernel_796, buf796, 605184, grid=(1, 2, 3), stream=0)
    buf797 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_797]
    launch(kernel_797, buf797, 605184, grid=(1, 2, 3), stream=0)
    buf798 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_798]
    launch(kernel_798, buf798, 605184, grid=(1, 2, 3), stream=0)
    buf799 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_799]
    launch(kernel_799, buf799, 605184, grid=(1, 2, 3), stream=0)
    buf800 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_800]
    launch(kernel_800, buf800, 605184, grid=(1, 2, 3), stream=0)
    buf801 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_801]
    launch(kernel_801, buf801, 605184, grid=(1, 2, 3), stream=0)
    buf802 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_802]
    launch(kernel_802, buf802, 605184, grid=(1, 2, 3), stream=0)
    buf803 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_803]
    launch(kernel_803, buf803, 605184, grid=(1, 2, 3), stream=0)
    buf804 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_804]
    launch(kernel_804, buf804, 605184, grid=(1, 2, 3), stream=0)
    buf805 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_805]
    launch(kernel_805, buf805, 605184, grid=(1, 2, 3), stream=0)
    buf806 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_806]
    launch(kernel_806, buf806, 605184, grid=(1, 2, 3), stream=0)
    buf807 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_807]
    launch(kernel_807, buf807, 605184, grid=(1, 2, 3), stream=0)
    buf808 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_808]
    launch(kernel_808, buf808, 605184, grid=(1, 2, 3), stream=0)
    buf809 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_809]
    launch(kernel_809, buf809, 605184, grid=(1, 2, 3), stream=0)
    buf810 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_810]
    launch(kernel_810, buf810, 605184, grid=(1, 2, 3), stream=0)
    buf811 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_811]
    launch(kernel_811, buf811, 605184, grid=(1, 2, 3), stream=0)
    buf812 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_812]
    launch(kernel_812, buf812, 605184, grid=(1, 2, 3), stream=0)
    buf813 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_813]
    launch(kernel_813, buf813, 605184, grid=(1, 2, 3), stream=0)
    buf814 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_814]
    launch(kernel_814, buf814, 605184, grid=(1, 2, 3), stream=0)
    buf815 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_815]
    launch(kernel_815, buf815, 605184, grid=(1, 2, 3), stream=0)
    buf816 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_816]
    launch(kernel_816, buf816, 605184, grid=(1, 2, 3), stream=0)
    buf817 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_817]
    launch(kernel_817, buf817, 605184, grid=(1, 2, 3), stream=0)
    buf818 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_818]
    launch(kernel_818, buf818, 605184, grid=(1, 2, 3), stream=0)
    buf819 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_819]
    launch(kernel_819, buf819, 605184, grid=(1, 2, 3), stream=0)
    buf820 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_820]
    launch(kernel_820, buf820, 605184, grid=(1, 2, 3), stream=0)
    buf821 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_821]
    launch(kernel_821, buf821, 605184, grid=(1, 2, 3), stream=0)
    buf822 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_822]
    launch(kernel_822, buf822, 605184, grid=(1, 2, 3), stream=0)
    buf823 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_823]
    launch(kernel_823, buf823, 605184, grid=(1, 2, 3), stream=0)
    buf824 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_824]
    launch(kernel_824, buf824, 605184, grid=(1, 2, 3), stream=0)
    buf825 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_825]
    launch(kernel_825, buf825, 605184, grid=(1, 2, 3), stream=0)
    buf826 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_826]
    launch(kernel_826, buf826, 605184, grid=(1, 2, 3), stream=0)
    buf827 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_827]
    launch(kernel_827, buf827, 605184, grid=(1, 2, 3), stream=0)
    buf828 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_828]
    launch(kernel_828, buf828, 605184, grid=(1, 2, 3), stream=0)
    buf829 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_829]
    launch(kernel_829, buf829, 605184, grid=(1, 2, 3), stream=0)
    buf830 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_830]
    launch(kernel_830, buf830, 605184, grid=(1, 2, 3), stream=0)
    buf831 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_831]
    launch(kernel_831, buf831, 605184, grid=(1, 2, 3), stream=0)
    buf832 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_832]
    launch(kernel_832, buf832, 605184, grid=(1, 2, 3), stream=0)
    buf833 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_833]
    launch(kernel_833, buf833, 605184, grid=(1, 2, 3), stream=0)
    buf834 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_834]
    launch(kernel_834, buf834, 605184, grid=(1, 2, 3), stream=0)
    buf835 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_835]
    launch(kernel_835, buf835, 605184, grid=(1, 2, 3), stream=0)
    buf836 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_836]
    launch(kernel_836, buf836, 605184, grid=(1, 2, 3), stream=0)
    buf837 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_837]
    launch(kernel_837, buf837, 605184, grid=(1, 2, 3), stream=0)
    buf838 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_838]
    launch(kernel_838, buf838, 605184, grid=(1, 2, 3), stream=0)
    buf839 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_839]
    launch(kernel_839, buf839, 605184, grid=(1, 2, 3), stream=0)
    buf840 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_840]
    launch(kernel_840, buf840, 605184, grid=(1, 2, 3), stream=0)
    buf841 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_841]
    launch(kernel_841, buf841, 605184, grid=(1, 2, 3), stream=0)
    buf842 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_842]
    launch(kernel_842, buf842, 605184, grid=(1, 2, 3), stream=0)
    buf843 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_843]
    launch(kernel_843, buf843, 605184, grid=(1, 2, 3), stream=0)
    buf844 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_844]
    launch(kernel_844, buf844, 605184, grid=(1, 2, 3), stream=0)
    buf845 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_845]
    launch(kernel_845, buf845, 605184, grid=(1, 2, 3), stream=0)
    buf846 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_846]
    launch(kernel_846, buf846, 605184, grid=(1, 2, 3), stream=0)
    buf847 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_847]
    launch(kernel_847, buf847, 605184, grid=(1, 2, 3), stream=0)
    buf848 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_848]
    launch(kernel_848, buf848, 605184, grid=(1, 2, 3), stream=0)
    buf849 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_849]
    launch(kernel_849, buf849, 605184, grid=(1, 2, 3), stream=0)
    buf850 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_850]
    launch(kernel_850, buf850, 605184, grid=(1, 2, 3), stream=0)
    buf851 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_851]
    launch(kernel_851, buf851, 605184, grid=(1, 2, 3), stream=0)
    buf852 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_852]
    launch(kernel_852, buf852, 605184, grid=(1, 2, 3), stream=0)
    buf853 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_853]
    launch(kernel_853, buf853, 605184, grid=(1, 2, 3), stream=0)
    buf854 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_854]
    launch(kernel_854, buf854, 605184, grid=(1, 2, 3), stream=0)
    buf855 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_855]
    launch(kernel_855, buf855, 605184, grid=(1, 2, 3), stream=0)
    buf856 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_856]
    launch(kernel_856, buf856, 605184, grid=(1, 2, 3), stream=0)
    buf857 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_857]
    launch(kernel_857, buf857, 605184, grid=(1, 2, 3), stream=0)
    buf858 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_858]
    launch(kernel_858, buf858, 605184, grid=(1, 2, 3), stream=0)
    buf859 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_859]
    launch(kernel_859, buf859, 605184, grid=(1, 2, 3), stream=0)
    buf860 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_860]
    launch(kernel_860, buf860, 605184, grid=(1, 2, 3), stream=0)
    buf861 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_861]
    launch(kernel_861, buf861, 605184, grid=(1, 2, 3), stream=0)
    buf862 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_862]
    launch(kernel_862, buf862, 605184, grid=(1, 2, 3), stream=0)
    buf863 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_863]
    launch(kernel_863, buf863, 605184, grid=(1, 2, 3), stream=0)
    buf864 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_864]
    launch(kernel_864, buf864, 605184, grid=(1, 2, 3), stream=0)
    buf865 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_865]
    launch(kernel_865, buf865, 605184, grid=(1, 2, 3), stream=0)
    buf866 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_866]
    launch(kernel_866, buf866, 605184, grid=(1, 2, 3), stream=0)
    buf867 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_867]
    launch(kernel_867, buf867, 605184, grid=(1, 2, 3), stream=0)
    buf868 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_868]
    launch(kernel_868, buf868, 605184, grid=(1, 2, 3), stream=0)
    buf869 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_869]
    launch(kernel_869, buf869, 605184, grid=(1, 2, 3), stream=0)
    buf870 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_870]
    launch(kernel_870, buf870, 605184, grid=(1, 2, 3), stream=0)
    buf871 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_871]
    launch(kernel_871, buf871, 605184, grid=(1, 2, 3), stream=0)
    buf872 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_872]
    launch(kernel_872, buf872, 605184, grid=(1, 2, 3), stream=0)
    buf873 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_873]
    launch(kernel_873, buf873, 605184, grid=(1, 2, 3), stream=0)
    buf874 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_874]
    launch(kernel_874, buf874, 605184, grid=(1, 2, 3), stream=0)
    buf875 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_875]
    launch(kernel_875, buf875, 605184, grid=(1, 2, 3), stream=0)
    buf876 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_876]
    launch(kernel_876, buf876, 605184, grid=(1, 2, 3), stream=0)
    buf877 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_877]
    launch(kernel_877, buf877, 605184, grid=(1, 2, 3), stream=0)
    buf878 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_878]
    launch(kernel_878, buf878, 605184, grid=(1, 2, 3), stream=0)
    buf879 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_879]
    launch(kernel_879, buf879, 605184, grid=(1, 2, 3), stream=0)
    buf880 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_880]
    launch(kernel_880, buf880, 605184, grid=(1, 2, 3), stream=0)
    buf881 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_881]
    launch(kernel_881, buf881, 605184, grid=(1, 2, 3), stream=0)
    buf882 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_882]
    launch(kernel_882, buf882, 605184, grid=(1, 2, 3), stream=0)
    buf883 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_883]
    launch(kernel_883, buf883, 605184, grid=(1, 2, 3), stream=0)
    buf884 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_884]
    launch(kernel_884, buf884, 605184, grid=(1, 2, 3), stream=0)
    buf885 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_885]
    launch(kernel_885, buf885, 605184, grid=(1, 2, 3), stream=0)
    buf886 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_886]
    launch(kernel_886, buf886, 605184, grid=(1, 2, 3), stream=0)
    buf887 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_887]
    launch(kernel_887, buf887, 605184, grid=(1, 2, 3), stream=0)
    buf888 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_888]
    launch(kernel_888, buf888, 605184, grid=(1, 2, 3), stream=0)
    buf889 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_889]
    launch(kernel_889, buf889, 605184, grid=(1, 2, 3), stream=0)
    buf890 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_890]
    launch(kernel_890, buf890, 605184, grid=(1, 2, 3), stream=0)
    buf891 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_891]
    launch(kernel_891, buf891, 605184, grid=(1, 2, 3), stream=0)
    buf892 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_892]
    launch(kernel_892, buf892, 605184, grid=(1, 2, 3), stream=0)
    buf893 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_893]
    launch(kernel_893, buf893, 605184, grid=(1, 2, 3), stream=0)
    buf894 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_894]
    launch(kernel_894, buf894, 605184, grid=(1, 2, 3), stream=0)
    buf895 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_895]
    launch(kernel_895, buf895, 605184, grid=(1, 2, 3), stream=0)
    buf896 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_896]
    launch(kernel_896, buf896, 605184, grid=(1, 2, 3), stream=0)
    buf897 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_897]
    launch(kernel_897, buf897, 605184, grid=(1, 2, 3), stream=0)
    buf898 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_898]
    launch(kernel_898, buf898, 605184, grid=(1, 2, 3), stream=0)
    buf899 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_899]
    launch(kernel_899, buf899, 605184, grid=(1, 2, 3), stream=0)
    buf900 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_900]
    launch(kernel_900, buf900, 605184, grid=(1, 2, 3), stream=0)
    buf901 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_901]
    launch(kernel_901, buf901, 605184, grid=(1, 2, 3), stream=0)
    buf902 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_902]
    launch(kernel_902, buf902, 605184, grid=(1, 2, 3), stream=0)
    buf903 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_903]
    launch(kernel_903, buf903, 605184, grid=(1, 2, 3), stream=0)
    buf904 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_904]
    launch(kernel_904, buf904, 605184, grid=(1, 2, 3), stream=0)
    buf905 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_905]
    launch(kernel_905, buf905, 605184, grid=(1, 2, 3), stream=0)
    buf906 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_906]
    launch(kernel_906, buf906, 605184, grid=(1, 2, 3), stream=0)
    buf907 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_907]
    launch(kernel_907, buf907, 605184, grid=(1, 2, 3), stream=0)
    buf908 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_908]
    launch(kernel_908, buf908, 605184, grid=(1, 2, 3), stream=0)
    buf909 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_909]
    launch(kernel_909, buf909, 605184, grid=(1, 2, 3), stream=0)
    buf910 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_910]
    launch(kernel_910, buf910, 605184, grid=(1, 2, 3), stream=0)
    buf911 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_911]
    launch(kernel_911, buf911, 605184, grid=(1, 2, 3), stream=0)
    buf912 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_912]
    launch(kernel_912, buf912, 605184, grid=(1, 2, 3), stream=0)
    buf913 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_913]
    launch(kernel_913, buf913, 605184, grid=(1, 2, 3), stream=0)
    buf914 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_914]
    launch(kernel_914, buf914, 605184, grid=(1, 2, 3), stream=0)
    buf915 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_915]
    launch(kernel_915, buf915, 605184, grid=(1, 2, 3), stream=0)
    buf916 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_916]
    launch(kernel_916, buf916, 605184, grid=(1, 2, 3), stream=0)
    buf917 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_917]
    launch(kernel_917, buf917, 605184, grid=(1, 2, 3), stream=0)
    buf918 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_918]
    launch(kernel_918, buf918, 605184, grid=(1, 2, 3), stream=0)
    buf919 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_919]
    launch(kernel_919, buf919, 605184, grid=(1, 2, 3), stream=0)
    buf920 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_920]
    launch(kernel_920, buf920, 605184, grid=(1, 2, 3), stream=0)
    buf921 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_921]
    launch(kernel_921, buf921, 605184, grid=(1, 2, 3), stream=0)
    buf922 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_922]
    launch(kernel_922, buf922, 605184, grid=(1, 2, 3), stream=0)
    buf923 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_923]
    launch(kernel_923, buf923, 605184, grid=(1, 2, 3), stream=0)
    buf924 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_924]
    launch(kernel_924, buf924, 605184, grid=(1, 2, 3), stream=0)
    buf925 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_925]
    launch(kernel_925, buf925, 605184, grid=(1, 2, 3), stream=0)
    buf926 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_926]
    launch(kernel_926, buf926, 605184, grid=(1, 2, 3), stream=0)
    buf927 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_927]
    launch(kernel_927, buf927, 605184, grid=(1, 2, 3), stream=0)
    buf928 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_928]
    launch(kernel_928, buf928, 605184, grid=(1, 2, 3), stream=0)
    buf929 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_929]
    launch(kernel_929, buf929, 605184, grid=(1, 2, 3), stream=0)
    buf930 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_930]
    launch(kernel_930, buf930, 605184, grid=(1, 2, 3), stream=0)
    buf931 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_931]
    launch(kernel_931, buf931, 605184, grid=(1, 2, 3), stream=0)
    buf932 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_932]
    launch(kernel_932, buf932, 605184, grid=(1, 2, 3), stream=0)
    buf933 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_933]
    launch(kernel_933, buf933, 605184, grid=(1, 2, 3), stream=0)
    buf934 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_934]
    launch(kernel_934, buf934, 605184, grid=(1, 2, 3), stream=0)
    buf935 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_935]
    launch(kernel_935, buf935, 605184, grid=(1, 2, 3), stream=0)
    buf936 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_936]
    launch(kernel_936, buf936, 605184, grid=(1, 2, 3), stream=0)
    buf937 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_937]
    launch(kernel_937, buf937, 605184, grid=(1, 2, 3), stream=0)
    buf938 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_938]
    launch(kernel_938, buf938, 605184, grid=(1, 2, 3), stream=0)
    buf939 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_939]
    launch(kernel_939, buf939, 605184, grid=(1, 2, 3), stream=0)
    buf940 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_940]
    launch(kernel_940, buf940, 605184, grid=(1, 2, 3), stream=0)
    buf941 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_941]
    launch(kernel_941, buf941, 605184, grid=(1, 2, 3), stream=0)
    buf942 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_942]
    launch(kernel_942, buf942, 605184, grid=(1, 2, 3), stream=0)
    buf943 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_943]
    launch(kernel_943, buf943, 605184, grid=(1, 2, 3), stream=0)
    buf944 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_944]
    launch(kernel_944, buf944, 605184, grid=(1, 2, 3), stream=0)
    buf945 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_945]
    launch(kernel_945, buf945, 605184, grid=(1, 2, 3), stream=0)
    buf946 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_946]
    launch(kernel_946, buf946, 605184, grid=(1, 2, 3), stream=0)
    buf947 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_947]
    launch(kernel_947, buf947, 605184, grid=(1, 2, 3), stream=0)
    buf948 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_948]
    launch(kernel_948, buf948, 605184, grid=(1, 2, 3), stream=0)
    buf949 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_949]
    launch(kernel_949, buf949, 605184, grid=(1, 2, 3), stream=0)
    buf950 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_950]
    launch(kernel_950, buf950, 605184, grid=(1, 2, 3), stream=0)
    buf951 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_951]
    launch(kernel_951, buf951, 605184, grid=(1, 2, 3), stream=0)
    buf952 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_952]
    launch(kernel_952, buf952, 605184, grid=(1, 2, 3), stream=0)
    buf953 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_953]
    launch(kernel_953, buf953, 605184, grid=(1, 2, 3), stream=0)
    buf954 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_954]
    launch(kernel_954, buf954, 605184, grid=(1, 2, 3), stream=0)
    buf955 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_955]
    launch(kernel_955, buf955, 605184, grid=(1, 2, 3), stream=0)
    buf956 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_956]
    launch(kernel_956, buf956, 605184, grid=(1, 2, 3), stream=0)
    buf957 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_957]
    launch(kernel_957, buf957, 605184, grid=(1, 2, 3), stream=0)
    buf958 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_958]
    launch(kernel_958, buf958, 605184, grid=(1, 2, 3), stream=0)
    buf959 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_959]
    launch(kernel_959, buf959, 605184, grid=(1, 2, 3), stream=0)
    buf960 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_960]
    launch(kernel_960, buf960, 605184, grid=(1, 2, 3), stream=0)
    buf961 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_961]
    launch(kernel_961, buf961, 605184, grid=(1, 2, 3), stream=0)
    buf962 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_962]
    launch(kernel_962, buf962, 605184, grid=(1, 2, 3), stream=0)
    buf963 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_963]
    launch(kernel_963, buf963, 605184, grid=(1, 2, 3), stream=0)
    buf964 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_964]
    launch(kernel_964, buf964, 605184, grid=(1, 2, 3), stream=0)
    buf965 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_965]
    launch(kernel_965, buf965, 605184, grid=(1, 2, 3), stream=0)
    buf966 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_966]
    launch(kernel_966, buf966, 605184, grid=(1, 2, 3), stream=0)
    buf967 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_967]
    launch(kernel_967, buf967, 605184, grid=(1, 2, 3), stream=0)
    buf968 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_968]
    launch(kernel_968, buf968, 605184, grid=(1, 2, 3), stream=0)
    buf969 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_969]
    launch(kernel_969, buf969, 605184, grid=(1, 2, 3), stream=0)
    buf970 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_970]
    launch(kernel_970, buf970, 605184, grid=(1, 2, 3), stream=0)
    buf971 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_971]
    launch(kernel_971, buf971, 605184, grid=(1, 2, 3), stream=0)
    buf972 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_972]
    launch(kernel_972, buf972, 605184, grid=(1, 2, 3), stream=0)
    buf973 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_973]
    launch(kernel_973, buf973, 605184, grid=(1, 2, 3), stream=0)
    buf974 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_974]
    launch(kernel_974, buf974, 605184, grid=(1, 2, 3), stream=0)
    buf975 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_975]
    launch(kernel_975, buf975, 605184, grid=(1, 2, 3), stream=0)
    buf976 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_976]
    launch(kernel_976, buf976, 605184, grid=(1, 2, 3), stream=0)
    buf977 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_977]
    launch(kernel_977, buf977, 605184, grid=(1, 2, 3), stream=0)
    buf978 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_978]
    launch(kernel_978, buf978, 605184, grid=(1, 2, 3), stream=0)
    buf979 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_979]
    launch(kernel_979, buf979, 605184, grid=(1, 2, 3), stream=0)
    buf980 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_980]
    launch(kernel_980, buf980, 605184, grid=(1, 2, 3), stream=0)
    buf981 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_981]
    launch(kernel_981, buf981, 605184, grid=(1, 2, 3), stream=0)
    buf982 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_982]
    launch(kernel_982, buf982, 605184, grid=(1, 2, 3), stream=0)
    buf983 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_983]
    launch(kernel_983, buf983, 605184, grid=(1, 2, 3), stream=0)
    buf984 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_984]
    launch(kernel_984, buf984, 605184, grid=(1, 2, 3), stream=0)
    buf985 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_985]
    launch(kernel_985, buf985, 605184, grid=(1, 2, 3), stream=0)
    buf986 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_986]
    launch(kernel_986, buf986, 605184, grid=(1, 2, 3), stream=0)
    buf987 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_987]
    launch(kernel_987, buf987, 605184, grid=(1, 2, 3), stream=0)
    buf988 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_988]
    launch(kernel_988, buf988, 605184, grid=(1, 2, 3), stream=0)
    buf989 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_989]
    launch(kernel_989, buf989, 605184, grid=(1, 2, 3), stream=0)
    buf990 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_990]
    launch(kernel_990, buf990, 605184, grid=(1, 2, 3), stream=0)
    buf991 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_991]
    launch(kernel_991, buf991, 605184, grid=(1, 2, 3), stream=0)
    buf992 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_992]
    launch(kernel_992, buf992, 605184, grid=(1, 2, 3), stream=0)
    buf993 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_993]
    launch(kernel_993, buf993, 605184, grid=(1, 2, 3), stream=0)
    buf994 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_994]
    launch(kernel_994, buf994, 605184, grid=(1, 2, 3), stream=0)
    buf995 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_995]
    launch(kernel_995, buf995, 605184, grid=(1, 2, 3), stream=0)
    buf996 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_996]
    launch(kernel_996, buf996, 605184, grid=(1, 2, 3), stream=0)
    buf997 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_997]
    launch(kernel_997, buf997, 605184, grid=(1, 2, 3), stream=0)
    buf998 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_998]
    launch(kernel_998, buf998, 605184, grid=(1, 2, 3), stream=0)
    buf999 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_999]
    launch(kernel_999, buf999, 605184, grid=(1, 2, 3), stream=0)
    buf1000 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1000]
    launch(kernel_0, buf1000, 605184, grid=(1, 2, 3), stream=0)
    buf1001 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1001]
    launch(kernel_1, buf1001, 605184, grid=(1, 2, 3), stream=0)
    buf1002 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1002]
    launch(kernel_2, buf1002, 605184, grid=(1, 2, 3), stream=0)
    buf1003 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1003]
    launch(kernel_3, buf1003, 605184, grid=(1, 2, 3), stream=0)
    buf1004 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1004]
    launch(kernel_4, buf1004, 605184, grid=(1, 2, 3), stream=0)
    buf1005 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1005]
    launch(kernel_5, buf1005, 605184, grid=(1, 2, 3), stream=0)
    buf1006 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1006]
    launch(kernel_6, buf1006, 605184, grid=(1, 2, 3), stream=0)
    buf1007 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1007]
    launch(kernel_7, buf1007, 605184, grid=(1, 2, 3), stream=0)
    buf1008 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1008]
    launch(kernel_8, buf1008, 605184, grid=(1, 2, 3), stream=0)
    buf1009 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1009]
    launch(kernel_9, buf1009, 605184, grid=(1, 2, 3), stream=0)
    buf1010 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1010]
    launch(kernel_10, buf1010, 605184, grid=(1, 2, 3), stream=0)
    buf1011 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1011]
    launch(kernel_11, buf1011, 605184, grid=(1, 2, 3), stream=0)
    buf1012 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1012]
    launch(kernel_12, buf1012, 605184, grid=(1, 2, 3), stream=0)
    buf1013 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1013]
    launch(kernel_13, buf1013, 605184, grid=(1, 2, 3), stream=0)
    buf1014 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1014]
    launch(kernel_14, buf1014, 605184, grid=(1, 2, 3), stream=0)
    buf1015 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1015]
    launch(kernel_15, buf1015, 605184, grid=(1, 2, 3), stream=0)
    buf1016 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1016]
    launch(kernel_16, buf1016, 605184, grid=(1, 2, 3), stream=0)
    buf1017 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1017]
    launch(kernel_17, buf1017, 605184, grid=(1, 2, 3), stream=0)
    buf1018 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1018]
    launch(kernel_18, buf1018, 605184, grid=(1, 2, 3), stream=0)
    buf1019 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1019]
    launch(kernel_19, buf1019, 605184, grid=(1, 2, 3), stream=0)
    buf1020 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1020]
    launch(kernel_20, buf1020, 605184, grid=(1, 2, 3), stream=0)
    buf1021 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1021]
    launch(kernel_21, buf1021, 605184, grid=(1, 2, 3), stream=0)
    buf1022 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1022]
    launch(kernel_22, buf1022, 605184, grid=(1, 2, 3), stream=0)
    buf1023 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1023]
    launch(kernel_23, buf1023, 605184, grid=(1, 2, 3), stream=0)
    buf1024 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1024]
    launch(kernel_24, buf1024, 605184, grid=(1, 2, 3), stream=0)
    buf1025 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1025]
    launch(kernel_25, buf1025, 605184, grid=(1, 2, 3), stream=0)
    buf1026 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1026]
    launch(kernel_26, buf1026, 605184, grid=(1, 2, 3), stream=0)
    buf1027 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1027]
    launch(kernel_27, buf1027, 605184, grid=(1, 2, 3), stream=0)
    buf1028 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1028]
    launch(kernel_28, buf1028, 605184, grid=(1, 2, 3), stream=0)
    buf1029 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1029]
    launch(kernel_29, buf1029, 605184, grid=(1, 2, 3), stream=0)
    buf1030 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1030]
    launch(kernel_30, buf1030, 605184, grid=(1, 2, 3), stream=0)
    buf1031 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1031]
    launch(kernel_31, buf1031, 605184, grid=(1, 2, 3), stream=0)
    buf1032 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1032]
    launch(kernel_32, buf1032, 605184, grid=(1, 2, 3), stream=0)
    buf1033 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1033]
    launch(kernel_33, buf1033, 605184, grid=(1, 2, 3), stream=0)
    buf1034 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1034]
    launch(kernel_34, buf1034, 605184, grid=(1, 2, 3), stream=0)
    buf1035 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1035]
    launch(kernel_35, buf1035, 605184, grid=(1, 2, 3), stream=0)
    buf1036 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1036]
    launch(kernel_36, buf1036, 605184, grid=(1, 2, 3), stream=0)
    buf1037 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1037]
    launch(kernel_37, buf1037, 605184, grid=(1, 2, 3), stream=0)
    buf1038 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1038]
    launch(kernel_38, buf1038, 605184, grid=(1, 2, 3), stream=0)
    buf1039 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1039]
    launch(kernel_39, buf1039, 605184, grid=(1, 2, 3), stream=0)
    buf1040 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1040]
    launch(kernel_40, buf1040, 605184, grid=(1, 2, 3), stream=0)
    buf1041 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1041]
    launch(kernel_41, buf1041, 605184, grid=(1, 2, 3), stream=0)
    buf1042 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1042]
    launch(kernel_42, buf1042, 605184, grid=(1, 2, 3), stream=0)
    buf1043 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1043]
    launch(kernel_43, buf1043, 605184, grid=(1, 2, 3), stream=0)
    buf1044 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1044]
    launch(kernel_44, buf1044, 605184, grid=(1, 2, 3), stream=0)
    buf1045 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1045]
    launch(kernel_45, buf1045, 605184, grid=(1, 2, 3), stream=0)
    buf1046 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1046]
    launch(kernel_46, buf1046, 605184, grid=(1, 2, 3), stream=0)
    buf1047 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1047]
    launch(kernel_47, buf1047, 605184, grid=(1, 2, 3), stream=0)
    buf1048 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1048]
    launch(kernel_48, buf1048, 605184, grid=(1, 2, 3), stream=0)
    buf1049 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1049]
    launch(kernel_49, buf1049, 605184, grid=(1, 2, 3), stream=0)
    buf1050 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1050]
    launch(kernel_50, buf1050, 605184, grid=(1, 2, 3), stream=0)
    buf1051 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1051]
    launch(kernel_51, buf1051, 605184, grid=(1, 2, 3), stream=0)
    buf1052 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1052]
    launch(kernel_52, buf1052, 605184, grid=(1, 2, 3), stream=0)
    buf1053 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1053]
    launch(kernel_53, buf1053, 605184, grid=(1, 2, 3), stream=0)
    buf1054 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1054]
    launch(kernel_54, buf1054, 605184, grid=(1, 2, 3), stream=0)
    buf1055 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1055]
    launch(kernel_55, buf1055, 605184, grid=(1, 2, 3), stream=0)
    buf1056 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1056]
    launch(kernel_56, buf1056, 605184, grid=(1, 2, 3), stream=0)
    buf1057 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1057]
    launch(kernel_57, buf1057, 605184, grid=(1, 2, 3), stream=0)
    buf1058 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1058]
    launch(kernel_58, buf1058, 605184, grid=(1, 2, 3), stream=0)
    buf1059 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1059]
    launch(kernel_59, buf1059, 605184, grid=(1, 2, 3), stream=0)
    buf1060 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1060]
    launch(kernel_60, buf1060, 605184, grid=(1, 2, 3), stream=0)
    buf1061 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1061]
    launch(kernel_61, buf1061, 605184, grid=(1, 2, 3), stream=0)
    buf1062 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1062]
    launch(kernel_62, buf1062, 605184, grid=(1, 2, 3), stream=0)
    buf1063 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1063]
    launch(kernel_63, buf1063, 605184, grid=(1, 2, 3), stream=0)
    buf1064 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1064]
    launch(kernel_64, buf1064, 605184, grid=(1, 2, 3), stream=0)
    buf1065 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1065]
    launch(kernel_65, buf1065, 605184, grid=(1, 2, 3), stream=0)
    buf1066 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1066]
    launch(kernel_66, buf1066, 605184, grid=(1, 2, 3), stream=0)
    buf1067 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1067]
    launch(kernel_67, buf1067, 605184, grid=(1, 2, 3), stream=0)
    buf1068 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1068]
    launch(kernel_68, buf1068, 605184, grid=(1, 2, 3), stream=0)
    buf1069 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1069]
    launch(kernel_69, buf1069, 605184, grid=(1, 2, 3), stream=0)
    buf1070 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1070]
    launch(kernel_70, buf1070, 605184, grid=(1, 2, 3), stream=0)
    buf1071 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1071]
    launch(kernel_71, buf1071, 605184, grid=(1, 2, 3), stream=0)
    buf1072 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1072]
    launch(kernel_72, buf1072, 605184, grid=(1, 2, 3), stream=0)
    buf1073 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1073]
    launch(kernel_73, buf1073, 605184, grid=(1, 2, 3), stream=0)
    buf1074 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1074]
    launch(kernel_74, buf1074, 605184, grid=(1, 2, 3), stream=0)
    buf1075 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1075]
    launch(kernel_75, buf1075, 605184, grid=(1, 2, 3), stream=0)
    buf1076 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1076]
    launch(kernel_76, buf1076, 605184, grid=(1, 2, 3), stream=0)
    buf1077 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1077]
    launch(kernel_77, buf1077, 605184, grid=(1, 2, 3), stream=0)
    buf1078 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1078]
    launch(kernel_78, buf1078, 605184, grid=(1, 2, 3), stream=0)
    buf1079 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1079]
    launch(kernel_79, buf1079, 605184, grid=(1, 2, 3), stream=0)
    buf1080 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1080]
    launch(kernel_80, buf1080, 605184, grid=(1, 2, 3), stream=0)
    buf1081 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1081]
    launch(kernel_81, buf1081, 605184, grid=(1, 2, 3), stream=0)
    buf1082 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1082]
    launch(kernel_82, buf1082, 605184, grid=(1, 2, 3), stream=0)
    buf1083 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1083]
    launch(kernel_83, buf1083, 605184, grid=(1, 2, 3), stream=0)
    buf1084 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1084]
    launch(kernel_84, buf1084, 605184, grid=(1, 2, 3), stream=0)
    buf1085 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1085]
    launch(kernel_85, buf1085, 605184, grid=(1, 2, 3), stream=0)
    buf1086 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1086]
    launch(kernel_86, buf1086, 605184, grid=(1, 2, 3), stream=0)
    buf1087 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1087]
    launch(kernel_87, buf1087, 605184, grid=(1, 2, 3), stream=0)
    buf1088 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1088]
    launch(kernel_88, buf1088, 605184, grid=(1, 2, 3), stream=0)
    buf1089 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1089]
    launch(kernel_89, buf1089, 605184, grid=(1, 2, 3), stream=0)
    buf1090 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1090]
    launch(kernel_90, buf1090, 605184, grid=(1, 2, 3), stream=0)
    buf1091 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1091]
    launch(kernel_91, buf1091, 605184, grid=(1, 2, 3), stream=0)
    buf1092 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1092]
    launch(kernel_92, buf1092, 605184, grid=(1, 2, 3), stream=0)
    buf1093 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1093]
    launch(kernel_93, buf1093, 605184, grid=(1, 2, 3), stream=0)
    buf1094 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1094]
    launch(kernel_94, buf1094, 605184, grid=(1, 2, 3), stream=0)
    buf1095 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1095]
    launch(kernel_95, buf1095, 605184, grid=(1, 2, 3), stream=0)
    buf1096 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1096]
    launch(kernel_96, buf1096, 605184, grid=(1, 2, 3), stream=0)
    buf1097 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1097]
    launch(kernel_97, buf1097, 605184, grid=(1, 2, 3), stream=0)
    buf1098 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1098]
    launch(kernel_98, buf1098, 605184, grid=(1, 2, 3), stream=0)
    buf1099 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1099]
    launch(kernel_99, buf1099, 605184, grid=(1, 2, 3), stream=0)
    buf1100 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1100]
    launch(kernel_100, buf1100, 605184, grid=(1, 2, 3), stream=0)
    buf1101 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1101]
    launch(kernel_101, buf1101, 605184, grid=(1, 2, 3), stream=0)
    buf1102 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1102]
    launch(kernel_102, buf1102, 605184, grid=(1, 2, 3), stream=0)
    buf1103 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1103]
    launch(kernel_103, buf1103, 605184, grid=(1, 2, 3), stream=0)
    buf1104 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1104]
    launch(kernel_104, buf1104, 605184, grid=(1, 2, 3), stream=0)
    buf1105 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1105]
    launch(kernel_105, buf1105, 605184, grid=(1, 2, 3), stream=0)
    buf1106 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1106]
    launch(kernel_106, buf1106, 605184, grid=(1, 2, 3), stream=0)
    buf1107 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1107]
    launch(kernel_107, buf1107, 605184, grid=(1, 2, 3), stream=0)
    buf1108 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1108]
    launch(kernel_108, buf1108, 605184, grid=(1, 2, 3), stream=0)
    buf1109 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1109]
    launch(kernel_109, buf1109, 605184, grid=(1, 2, 3), stream=0)
    buf1110 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1110]
    launch(kernel_110, buf1110, 605184, grid=(1, 2, 3), stream=0)
    buf1111 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1111]
    launch(kernel_111, buf1111, 605184, grid=(1, 2, 3), stream=0)
    buf1112 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1112]
    launch(kernel_112, buf1112, 605184, grid=(1, 2, 3), stream=0)
    buf1113 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1113]
    launch(kernel_113, buf1113, 605184, grid=(1, 2, 3), stream=0)
    buf1114 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1114]
    launch(kernel_114, buf1114, 605184, grid=(1, 2, 3), stream=0)
    buf1115 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1115]
    launch(kernel_115, buf1115, 605184, grid=(1, 2, 3), stream=0)
    buf1116 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1116]
    launch(kernel_116, buf1116, 605184, grid=(1, 2, 3), stream=0)
    buf1117 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1117]
    launch(kernel_117, buf1117, 605184, grid=(1, 2, 3), stream=0)
    buf1118 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1118]
    launch(kernel_118, buf1118, 605184, grid=(1, 2, 3), stream=0)
    buf1119 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1119]
    launch(kernel_119, buf1119, 605184, grid=(1, 2, 3), stream=0)
    buf1120 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1120]
    launch(kernel_120, buf1120, 605184, grid=(1, 2, 3), stream=0)
    buf1121 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1121]
    launch(kernel_121, buf1121, 605184, grid=(1, 2, 3), stream=0)
    buf1122 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1122]
    launch(kernel_122, buf1122, 605184, grid=(1, 2, 3), stream=0)
    buf1123 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1123]
    launch(kernel_123, buf1123, 605184, grid=(1, 2, 3), stream=0)
    buf1124 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1124]
    launch(kernel_124, buf1124, 605184, grid=(1, 2, 3), stream=0)
    buf1125 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1125]
    launch(kernel_125, buf1125, 605184, grid=(1, 2, 3), stream=0)
    buf1126 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1126]
    launch(kernel_126, buf1126, 605184, grid=(1, 2, 3), stream=0)
    buf1127 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1127]
    launch(kernel_127, buf1127, 605184, grid=(1, 2, 3), stream=0)
    buf1128 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1128]
    launch(kernel_128, buf1128, 605184, grid=(1, 2, 3), stream=0)
    buf1129 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1129]
    launch(kernel_129, buf1129, 605184, grid=(1, 2, 3), stream=0)
    buf1130 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1130]
    launch(kernel_130, buf1130, 605184, grid=(1, 2, 3), stream=0)
    buf1131 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1131]
    launch(kernel_131, buf1131, 605184, grid=(1, 2, 3), stream=0)
    buf1132 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1132]
    launch(kernel_132, buf1132, 605184, grid=(1, 2, 3), stream=0)
    buf1133 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1133]
    launch(kernel_133, buf1133, 605184, grid=(1, 2, 3), stream=0)
    buf1134 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1134]
    launch(kernel_134, buf1134, 605184, grid=(1, 2, 3), stream=0)
    buf1135 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1135]
    launch(kernel_135, buf1135, 605184, grid=(1, 2, 3), stream=0)
    buf1136 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1136]
    launch(kernel_136, buf1136, 605184, grid=(1, 2, 3), stream=0)
    buf1137 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1137]
    launch(kernel_137, buf1137, 605184, grid=(1, 2, 3), stream=0)
    buf1138 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1138]
    launch(kernel_138, buf1138, 605184, grid=(1, 2, 3), stream=0)
    buf1139 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1139]
    launch(kernel_139, buf1139, 605184, grid=(1, 2, 3), stream=0)
    buf1140 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1140]
    launch(kernel_140, buf1140, 605184, grid=(1, 2, 3), stream=0)
    buf1141 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1141]
    launch(kernel_141, buf1141, 605184, grid=(1, 2, 3), stream=0)
    buf1142 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1142]
    launch(kernel_142, buf1142, 605184, grid=(1, 2, 3), stream=0)
    buf1143 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1143]
    launch(kernel_143, buf1143, 605184, grid=(1, 2, 3), stream=0)
    buf1144 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1144]
    launch(kernel_144, buf1144, 605184, grid=(1, 2, 3), stream=0)
    buf1145 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1145]
    launch(kernel_145, buf1145, 605184, grid=(1, 2, 3), stream=0)
    buf1146 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1146]
    launch(kernel_146, buf1146, 605184, grid=(1, 2, 3), stream=0)
    buf1147 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1147]
    launch(kernel_147, buf1147, 605184, grid=(1, 2, 3), stream=0)
    buf1148 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1148]
    launch(kernel_148, buf1148, 605184, grid=(1, 2, 3), stream=0)
    buf1149 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1149]
    launch(kernel_149, buf1149, 605184, grid=(1, 2, 3), stream=0)
    buf1150 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1150]
    launch(kernel_150, buf1150, 605184, grid=(1, 2, 3), stream=0)
    buf1151 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1151]
    launch(kernel_151, buf1151, 605184, grid=(1, 2, 3), stream=0)
    buf1152 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1152]
    launch(kernel_152, buf1152, 605184, grid=(1, 2, 3), stream=0)
    buf1153 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1153]
    launch(kernel_153, buf1153, 605184, grid=(1, 2, 3), stream=0)
    buf1154 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1154]
    launch(kernel_154, buf1154, 605184, grid=(1, 2, 3), stream=0)
    buf1155 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1155]
    launch(kernel_155, buf1155, 605184, grid=(1, 2, 3), stream=0)
    buf1156 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1156]
    launch(kernel_156, buf1156, 605184, grid=(1, 2, 3), stream=0)
    buf1157 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1157]
    launch(kernel_157, buf1157, 605184, grid=(1, 2, 3), stream=0)
    buf1158 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1158]
    launch(kernel_158, buf1158, 605184, grid=(1, 2, 3), stream=0)
    buf1159 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1159]
    launch(kernel_159, buf1159, 605184, grid=(1, 2, 3), stream=0)
    buf1160 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1160]
    launch(kernel_160, buf1160, 605184, grid=(1, 2, 3), stream=0)
    buf1161 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1161]
    launch(kernel_161, buf1161, 605184, grid=(1, 2, 3), stream=0)
    buf1162 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1162]
    launch(kernel_162, buf1162, 605184, grid=(1, 2, 3), stream=0)
    buf1163 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1163]
    launch(kernel_163, buf1163, 605184, grid=(1, 2, 3), stream=0)
    buf1164 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1164]
    launch(kernel_164, buf1164, 605184, grid=(1, 2, 3), stream=0)
    buf1165 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1165]
    launch(kernel_165, buf1165, 605184, grid=(1, 2, 3), stream=0)
    buf1166 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1166]
    launch(kernel_166, buf1166, 605184, grid=(1, 2, 3), stream=0)
    buf1167 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1167]
    launch(kernel_167, buf1167, 605184, grid=(1, 2, 3), stream=0)
    buf1168 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1168]
    launch(kernel_168, buf1168, 605184, grid=(1, 2, 3), stream=0)
    buf1169 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1169]
    launch(kernel_169, buf1169, 605184, grid=(1, 2, 3), stream=0)
    buf1170 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1170]
    launch(kernel_170, buf1170, 605184, grid=(1, 2, 3), stream=0)
    buf1171 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1171]
    launch(kernel_171, buf1171, 605184, grid=(1, 2, 3), stream=0)
    buf1172 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1172]
    launch(kernel_172, buf1172, 605184, grid=(1, 2, 3), stream=0)
    buf1173 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1173]
    launch(kernel_173, buf1173, 605184, grid=(1, 2, 3), stream=0)
    buf1174 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1174]
    launch(kernel_174, buf1174, 605184, grid=(1, 2, 3), stream=0)
    buf1175 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1175]
    launch(kernel_175, buf1175, 605184, grid=(1, 2, 3), stream=0)
    buf1176 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1176]
    launch(kernel_176, buf1176, 605184, grid=(1, 2, 3), stream=0)
    buf1177 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1177]
    launch(kernel_177, buf1177, 605184, grid=(1, 2, 3), stream=0)
    buf1178 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1178]
    launch(kernel_178, buf1178, 605184, grid=(1, 2, 3), stream=0)
    buf1179 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1179]
    launch(kernel_179, buf1179, 605184, grid=(1, 2, 3), stream=0)
    buf1180 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1180]
    launch(kernel_180, buf1180, 605184, grid=(1, 2, 3), stream=0)
    buf1181 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1181]
    launch(kernel_181, buf1181, 605184, grid=(1, 2, 3), stream=0)
    buf1182 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1182]
    launch(kernel_182, buf1182, 605184, grid=(1, 2, 3), stream=0)
    buf1183 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1183]
    launch(kernel_183, buf1183, 605184, grid=(1, 2, 3), stream=0)
    buf1184 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1184]
    launch(kernel_184, buf1184, 605184, grid=(1, 2, 3), stream=0)
    buf1185 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1185]
    launch(kernel_185, buf1185, 605184, grid=(1, 2, 3), stream=0)
    buf1186 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1186]
    launch(kernel_186, buf1186, 605184, grid=(1, 2, 3), stream=0)
    buf1187 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1187]
    launch(kernel_187, buf1187, 605184, grid=(1, 2, 3), stream=0)
    buf1188 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1188]
    launch(kernel_188, buf1188, 605184, grid=(1, 2, 3), stream=0)
    buf1189 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1189]
    launch(kernel_189, buf1189, 605184, grid=(1, 2, 3), stream=0)
    buf1190 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1190]
    launch(kernel_190, buf1190, 605184, grid=(1, 2, 3), stream=0)
    buf1191 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1191]
    launch(kernel_191, buf1191, 605184, grid=(1, 2, 3), stream=0)
    buf1192 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1192]
    launch(kernel_192, buf1192, 605184, grid=(1, 2, 3), stream=0)
    buf1193 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1193]
    launch(kernel_193, buf1193, 605184, grid=(1, 2, 3), stream=0)
    buf1194 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1194]
    launch(kernel_194, buf1194, 605184, grid=(1, 2, 3), stream=0)
    buf1195 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1195]
    launch(kernel_195, buf1195, 605184, grid=(1, 2, 3), stream=0)
    buf1196 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1196]
    launch(kernel_196, buf1196, 605184, grid=(1, 2, 3), stream=0)
    buf1197 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1197]
    launch(kernel_197, buf1197, 605184, grid=(1, 2, 3), stream=0)
    buf1198 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1198]
    launch(kernel_198, buf1198, 605184, grid=(1, 2, 3), stream=0)
    buf1199 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1199]
    launch(kernel_199, buf1199, 605184, grid=(1, 2, 3), stream=0)
    buf1200 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1200]
    launch(kernel_200, buf1200, 605184, grid=(1, 2, 3), stream=0)
    buf1201 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1201]
    launch(kernel_201, buf1201, 605184, grid=(1, 2, 3), stream=0)
    buf1202 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1202]
    launch(kernel_202, buf1202, 605184, grid=(1, 2, 3), stream=0)
    buf1203 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1203]
    launch(kernel_203, buf1203, 605184, grid=(1, 2, 3), stream=0)
    buf1204 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1204]
    launch(kernel_204, buf1204, 605184, grid=(1, 2, 3), stream=0)
    buf1205 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1205]
    launch(kernel_205, buf1205, 605184, grid=(1, 2, 3), stream=0)
    buf1206 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1206]
    launch(kernel_206, buf1206, 605184, grid=(1, 2, 3), stream=0)
    buf1207 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1207]
    launch(kernel_207, buf1207, 605184, grid=(1, 2, 3), stream=0)
    buf1208 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1208]
    launch(kernel_208, buf1208, 605184, grid=(1, 2, 3), stream=0)
    buf1209 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1209]
    launch(kernel_209, buf1209, 605184, grid=(1, 2, 3), stream=0)
    buf1210 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1210]
    launch(kernel_210, buf1210, 605184, grid=(1, 2, 3), stream=0)
    buf1211 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1211]
    launch(kernel_211, buf1211, 605184, grid=(1, 2, 3), stream=0)
    buf1212 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1212]
    launch(kernel_212, buf1212, 605184, grid=(1, 2, 3), stream=0)
    buf1213 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1213]
    launch(kernel_213, buf1213, 605184, grid=(1, 2, 3), stream=0)
    buf1214 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1214]
    launch(kernel_214, buf1214, 605184, grid=(1, 2, 3), stream=0)
    buf1215 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1215]
    launch(kernel_215, buf1215, 605184, grid=(1, 2, 3), stream=0)
    buf1216 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1216]
    launch(kernel_216, buf1216, 605184, grid=(1, 2, 3), stream=0)
    buf1217 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1217]
    launch(kernel_217, buf1217, 605184, grid=(1, 2, 3), stream=0)
    buf1218 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1218]
    launch(kernel_218, buf1218, 605184, grid=(1, 2, 3), stream=0)
    buf1219 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1219]
    launch(kernel_219, buf1219, 605184, grid=(1, 2, 3), stream=0)
    buf1220 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1220]
    launch(kernel_220, buf1220, 605184, grid=(1, 2, 3), stream=0)
    buf1221 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1221]
    launch(kernel_221, buf1221, 605184, grid=(1, 2, 3), stream=0)
    buf1222 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1222]
    launch(kernel_222, buf1222, 605184, grid=(1, 2, 3), stream=0)
    buf1223 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1223]
    launch(kernel_223, buf1223, 605184, grid=(1, 2, 3), stream=0)
    buf1224 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1224]
    launch(kernel_224, buf1224, 605184, grid=(1, 2, 3), stream=0)
    buf1225 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1225]
    launch(kernel_225, buf1225, 605184, grid=(1, 2, 3), stream=0)
    buf1226 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1226]
    launch(kernel_226, buf1226, 605184, grid=(1, 2, 3), stream=0)
    buf1227 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1227]
    launch(kernel_227, buf1227, 605184, grid=(1, 2, 3), stream=0)
    buf1228 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1228]
    launch(kernel_228, buf1228, 605184, grid=(1, 2, 3), stream=0)
    buf1229 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1229]
    launch(kernel_229, buf1229, 605184, grid=(1, 2, 3), stream=0)
    buf1230 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1230]
    launch(kernel_230, buf1230, 605184, grid=(1, 2, 3), stream=0)
    buf1231 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1231]
    launch(kernel_231, buf1231, 605184, grid=(1, 2, 3), stream=0)
    buf1232 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1232]
    launch(kernel_232, buf1232, 605184, grid=(1, 2, 3), stream=0)
    buf1233 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1233]
    launch(kernel_233, buf1233, 605184, grid=(1, 2, 3), stream=0)
    buf1234 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1234]
    launch(kernel_234, buf1234, 605184, grid=(1, 2, 3), stream=0)
    buf1235 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1235]
    launch(kernel_235, buf1235, 605184, grid=(1, 2, 3), stream=0)
    buf1236 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1236]
    launch(kernel_236, buf1236, 605184, grid=(1, 2, 3), stream=0)
    buf1237 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1237]
    launch(kernel_237, buf1237, 605184, grid=(1, 2, 3), stream=0)
    buf1238 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1238]
    launch(kernel_238, buf1238, 605184, grid=(1, 2, 3), stream=0)
    buf1239 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1239]
    launch(kernel_239, buf1239, 605184, grid=(1, 2, 3), stream=0)
    buf1240 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1240]
    launch(kernel_240, buf1240, 605184, grid=(1, 2, 3), stream=0)
    buf1241 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1241]
    launch(kernel_241, buf1241, 605184, grid=(1, 2, 3), stream=0)
    buf1242 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1242]
    launch(kernel_242, buf1242, 605184, grid=(1, 2, 3), stream=0)
    buf1243 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1243]
    launch(kernel_243, buf1243, 605184, grid=(1, 2, 3), stream=0)
    buf1244 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1244]
    launch(kernel_244, buf1244, 605184, grid=(1, 2, 3), stream=0)
    buf1245 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1245]
    launch(kernel_245, buf1245, 605184, grid=(1, 2, 3), stream=0)
    buf1246 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1246]
    launch(kernel_246, buf1246, 605184, grid=(1, 2, 3), stream=0)
    buf1247 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1247]
    launch(kernel_247, buf1247, 605184, grid=(1, 2, 3), stream=0)
    buf1248 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1248]
    launch(kernel_248, buf1248, 605184, grid=(1, 2, 3), stream=0)
    buf1249 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1249]
    launch(kernel_249, buf1249, 605184, grid=(1, 2, 3), stream=0)
    buf1250 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1250]
    launch(kernel_250, buf1250, 605184, grid=(1, 2, 3), stream=0)
    buf1251 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1251]
    launch(kernel_251, buf1251, 605184, grid=(1, 2, 3), stream=0)
    buf1252 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1252]
    launch(kernel_252, buf1252, 605184, grid=(1, 2, 3), stream=0)
    buf1253 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1253]
    launch(kernel_253, buf1253, 605184, grid=(1, 2, 3), stream=0)
    buf1254 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1254]
    launch(kernel_254, buf1254, 605184, grid=(1, 2, 3), stream=0)
    buf1255 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1255]
    launch(kernel_255, buf1255, 605184, grid=(1, 2, 3), stream=0)
    buf1256 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1256]
    launch(kernel_256, buf1256, 605184, grid=(1, 2, 3), stream=0)
    buf1257 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1257]
    launch(kernel_257, buf1257, 605184, grid=(1, 2, 3), stream=0)
    buf1258 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1258]
    launch(kernel_258, buf1258, 605184, grid=(1, 2, 3), stream=0)
    buf1259 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1259]
    launch(kernel_259, buf1259, 605184, grid=(1, 2, 3), stream=0)
    buf1260 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1260]
    launch(kernel_260, buf1260, 605184, grid=(1, 2, 3), stream=0)
    buf1261 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1261]
    launch(kernel_261, buf1261, 605184, grid=(1, 2, 3), stream=0)
    buf1262 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1262]
    launch(kernel_262, buf1262, 605184, grid=(1, 2, 3), stream=0)
    buf1263 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1263]
    launch(kernel_263, buf1263, 605184, grid=(1, 2, 3), stream=0)
    buf1264 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1264]
    launch(kernel_264, buf1264, 605184, grid=(1, 2, 3), stream=0)
    buf1265 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1265]
    launch(kernel_265, buf1265, 605184, grid=(1, 2, 3), stream=0)
    buf1266 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1266]
    launch(kernel_266, buf1266, 605184, grid=(1, 2, 3), stream=0)
    buf1267 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1267]
    launch(kernel_267, buf1267, 605184, grid=(1, 2, 3), stream=0)
    buf1268 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1268]
    launch(kernel_268, buf1268, 605184, grid=(1, 2, 3), stream=0)
    buf1269 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1269]
    launch(kernel_269, buf1269, 605184, grid=(1, 2, 3), stream=0)
    buf1270 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1270]
    launch(kernel_270, buf1270, 605184, grid=(1, 2, 3), stream=0)
    buf1271 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1271]
    launch(kernel_271, buf1271, 605184, grid=(1, 2, 3), stream=0)
    buf1272 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1272]
    launch(kernel_272, buf1272, 605184, grid=(1, 2, 3), stream=0)
    buf1273 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1273]
    launch(kernel_273, buf1273, 605184, grid=(1, 2, 3), stream=0)
    buf1274 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1274]
    launch(kernel_274, buf1274, 605184, grid=(1, 2, 3), stream=0)
    buf1275 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1275]
    launch(kernel_275, buf1275, 605184, grid=(1, 2, 3), stream=0)
    buf1276 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1276]
    launch(kernel_276, buf1276, 605184, grid=(1, 2, 3), stream=0)
    buf1277 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1277]
    launch(kernel_277, buf1277, 605184, grid=(1, 2, 3), stream=0)
    buf1278 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1278]
    launch(kernel_278, buf1278, 605184, grid=(1, 2, 3), stream=0)
    buf1279 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1279]
    launch(kernel_279, buf1279, 605184, grid=(1, 2, 3), stream=0)
    buf1280 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1280]
    launch(kernel_280, buf1280, 605184, grid=(1, 2, 3), stream=0)
    buf1281 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1281]
    launch(kernel_281, buf1281, 605184, grid=(1, 2, 3), stream=0)
    buf1282 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1282]
    launch(kernel_282, buf1282, 605184, grid=(1, 2, 3), stream=0)
    buf1283 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1283]
    launch(kernel_283, buf1283, 605184, grid=(1, 2, 3), stream=0)
    buf1284 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1284]
    launch(kernel_284, buf1284, 605184, grid=(1, 2, 3), stream=0)
    buf1285 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1285]
    launch(kernel_285, buf1285, 605184, grid=(1, 2, 3), stream=0)
    buf1286 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1286]
    launch(kernel_286, buf1286, 605184, grid=(1, 2, 3), stream=0)
    buf1287 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1287]
    launch(kernel_287, buf1287, 605184, grid=(1, 2, 3), stream=0)
    buf1288 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1288]
    launch(kernel_288, buf1288, 605184, grid=(1, 2, 3), stream=0)
    buf1289 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1289]
    launch(kernel_289, buf1289, 605184, grid=(1, 2, 3), stream=0)
    buf1290 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1290]
    launch(kernel_290, buf1290, 605184, grid=(1, 2, 3), stream=0)
    buf1291 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1291]
    launch(kernel_291, buf1291, 605184, grid=(1, 2, 3), stream=0)
    buf1292 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1292]
    launch(kernel_292, buf1292, 605184, grid=(1, 2, 3), stream=0)
    buf1293 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1293]
    launch(kernel_293, buf1293, 605184, grid=(1, 2, 3), stream=0)
    buf1294 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1294]
    launch(kernel_294, buf1294, 605184, grid=(1, 2, 3), stream=0)
    buf1295 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1295]
    launch(kernel_295, buf1295, 605184, grid=(1, 2, 3), stream=0)
    buf1296 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1296]
    launch(kernel_296, buf1296, 605184, grid=(1, 2, 3), stream=0)
    buf1297 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1297]
    launch(kernel_297, buf1297, 605184, grid=(1, 2, 3), stream=0)
    buf1298 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1298]
    launch(kernel_298, buf1298, 605184, grid=(1, 2, 3), stream=0)
    buf1299 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1299]
    launch(kernel_299, buf1299, 605184, grid=(1, 2, 3), stream=0)
    buf1300 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1300]
    launch(kernel_300, buf1300, 605184, grid=(1, 2, 3), stream=0)
    buf1301 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1301]
    launch(kernel_301, buf1301, 605184, grid=(1, 2, 3), stream=0)
    buf1302 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1302]
    launch(kernel_302, buf1302, 605184, grid=(1, 2, 3), stream=0)
    buf1303 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1303]
    launch(kernel_303, buf1303, 605184, grid=(1, 2, 3), stream=0)
    buf1304 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1304]
    launch(kernel_304, buf1304, 605184, grid=(1, 2, 3), stream=0)
    buf1305 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1305]
    launch(kernel_305, buf1305, 605184, grid=(1, 2, 3), stream=0)
    buf1306 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1306]
    launch(kernel_306, buf1306, 605184, grid=(1, 2, 3), stream=0)
    buf1307 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1307]
    launch(kernel_307, buf1307, 605184, grid=(1, 2, 3), stream=0)
    buf1308 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1308]
    launch(kernel_308, buf1308, 605184, grid=(1, 2, 3), stream=0)
    buf1309 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1309]
    launch(kernel_309, buf1309, 605184, grid=(1, 2, 3), stream=0)
    buf1310 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1310]
    launch(kernel_310, buf1310, 605184, grid=(1, 2, 3), stream=0)
    buf1311 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1311]
    launch(kernel_311, buf1311, 605184, grid=(1, 2, 3), stream=0)
    buf1312 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1312]
    launch(kernel_312, buf1312, 605184, grid=(1, 2, 3), stream=0)
    buf1313 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1313]
    launch(kernel_313, buf1313, 605184, grid=(1, 2, 3), stream=0)
    buf1314 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1314]
    launch(kernel_314, buf1314, 605184, grid=(1, 2, 3), stream=0)
    buf1315 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1315]
    launch(kernel_315, buf1315, 605184, grid=(1, 2, 3), stream=0)
    buf1316 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1316]
    launch(kernel_316, buf1316, 605184, grid=(1, 2, 3), stream=0)
    buf1317 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1317]
    launch(kernel_317, buf1317, 605184, grid=(1, 2, 3), stream=0)
    buf1318 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1318]
    launch(kernel_318, buf1318, 605184, grid=(1, 2, 3), stream=0)
    buf1319 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1319]
    launch(kernel_319, buf1319, 605184, grid=(1, 2, 3), stream=0)
    buf1320 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1320]
    launch(kernel_320, buf1320, 605184, grid=(1, 2, 3), stream=0)
    buf1321 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1321]
    launch(kernel_321, buf1321, 605184, grid=(1, 2, 3), stream=0)
    buf1322 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1322]
    launch(kernel_322, buf1322, 605184, grid=(1, 2, 3), stream=0)
    buf1323 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1323]
    launch(kernel_323, buf1323, 605184, grid=(1, 2, 3), stream=0)
    buf1324 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1324]
    launch(kernel_324, buf1324, 605184, grid=(1, 2, 3), stream=0)
    buf1325 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1325]
    launch(kernel_325, buf1325, 605184, grid=(1, 2, 3), stream=0)
    buf1326 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1326]
    launch(kernel_326, buf1326, 605184, grid=(1, 2, 3), stream=0)
    buf1327 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1327]
    launch(kernel_327, buf1327, 605184, grid=(1, 2, 3), stream=0)
    buf1328 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1328]
    launch(kernel_328, buf1328, 605184, grid=(1, 2, 3), stream=0)
    buf1329 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1329]
    launch(kernel_329, buf1329, 605184, grid=(1, 2, 3), stream=0)
    buf1330 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1330]
    launch(kernel_330, buf1330, 605184, grid=(1, 2, 3), stream=0)
    buf1331 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1331]
    launch(kernel_331, buf1331, 605184, grid=(1, 2, 3), stream=0)
    buf1332 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1332]
    launch(kernel_332, buf1332, 605184, grid=(1, 2, 3), stream=0)
    buf1333 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1333]
    launch(kernel_333, buf1333, 605184, grid=(1, 2, 3), stream=0)
    buf1334 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1334]
    launch(kernel_334, buf1334, 605184, grid=(1, 2, 3), stream=0)
    buf1335 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1335]
    launch(kernel_335, buf1335, 605184, grid=(1, 2, 3), stream=0)
    buf1336 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1336]
    launch(kernel_336, buf1336, 605184, grid=(1, 2, 3), stream=0)
    buf1337 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1337]
    launch(kernel_337, buf1337, 605184, grid=(1, 2, 3), stream=0)
    buf1338 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1338]
    launch(kernel_338, buf1338, 605184, grid=(1, 2, 3), stream=0)
    buf1339 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1339]
    launch(kernel_339, buf1339, 605184, grid=(1, 2, 3), stream=0)
    buf1340 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1340]
    launch(kernel_340, buf1340, 605184, grid=(1, 2, 3), stream=0)
    buf1341 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1341]
    launch(kernel_341, buf1341, 605184, grid=(1, 2, 3), stream=0)
    buf1342 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1342]
    launch(kernel_342, buf1342, 605184, grid=(1, 2, 3), stream=0)
    buf1343 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1343]
    launch(kernel_343, buf1343, 605184, grid=(1, 2, 3), stream=0)
    buf1344 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1344]
    launch(kernel_344, buf1344, 605184, grid=(1, 2, 3), stream=0)
    buf1345 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1345]
    launch(kernel_345, buf1345, 605184, grid=(1, 2, 3), stream=0)
    buf1346 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1346]
    launch(kernel_346, buf1346, 605184, grid=(1, 2, 3), stream=0)
    buf1347 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1347]
    launch(kernel_347, buf1347, 605184, grid=(1, 2, 3), stream=0)
    buf1348 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1348]
    launch(kernel_348, buf1348, 605184, grid=(1, 2, 3), stream=0)
    buf1349 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1349]
    launch(kernel_349, buf1349, 605184, grid=(1, 2, 3), stream=0)
    buf1350 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1350]
    launch(kernel_350, buf1350, 605184, grid=(1, 2, 3), stream=0)
    buf1351 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1351]
    launch(kernel_351, buf1351, 605184, grid=(1, 2, 3), stream=0)
    buf1352 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1352]
    launch(kernel_352, buf1352, 605184, grid=(1, 2, 3), stream=0)
    buf1353 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1353]
    launch(kernel_353, buf1353, 605184, grid=(1, 2, 3), stream=0)
    buf1354 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1354]
    launch(kernel_354, buf1354, 605184, grid=(1, 2, 3), stream=0)
    buf1355 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1355]
    launch(kernel_355, buf1355, 605184, grid=(1, 2, 3), stream=0)
    buf1356 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1356]
    launch(kernel_356, buf1356, 605184, grid=(1, 2, 3), stream=0)
    buf1357 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1357]
    launch(kernel_357, buf1357, 605184, grid=(1, 2, 3), stream=0)
    buf1358 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1358]
    launch(kernel_358, buf1358, 605184, grid=(1, 2, 3), stream=0)
    buf1359 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1359]
    launch(kernel_359, buf1359, 605184, grid=(1, 2, 3), stream=0)
    buf1360 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1360]
    launch(kernel_360, buf1360, 605184, grid=(1, 2, 3), stream=0)
    buf1361 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1361]
    launch(kernel_361, buf1361, 605184, grid=(1, 2, 3), stream=0)
    buf1362 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1362]
    launch(kernel_362, buf1362, 605184, grid=(1, 2, 3), stream=0)
    buf1363 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1363]
    launch(kernel_363, buf1363, 605184, grid=(1, 2, 3), stream=0)
    buf1364 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1364]
    launch(kernel_364, buf1364, 605184, grid=(1, 2, 3), stream=0)
    buf1365 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1365]
    launch(kernel_365, buf1365, 605184, grid=(1, 2, 3), stream=0)
    buf1366 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1366]
    launch(kernel_366, buf1366, 605184, grid=(1, 2, 3), stream=0)
    buf1367 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1367]
    launch(kernel_367, buf1367, 605184, grid=(1, 2, 3), stream=0)
    buf1368 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1368]
    launch(kernel_368, buf1368, 605184, grid=(1, 2, 3), stream=0)
    buf1369 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1369]
    launch(kernel_369, buf1369, 605184, grid=(1, 2, 3), stream=0)
    buf1370 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1370]
    launch(kernel_370, buf1370, 605184, grid=(1, 2, 3), stream=0)
    buf1371 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1371]
    launch(kernel_371, buf1371, 605184, grid=(1, 2, 3), stream=0)
    buf1372 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1372]
    launch(kernel_372, buf1372, 605184, grid=(1, 2, 3), stream=0)
    buf1373 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1373]
    launch(kernel_373, buf1373, 605184, grid=(1, 2, 3), stream=0)
    buf1374 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1374]
    launch(kernel_374, buf1374, 605184, grid=(1, 2, 3), stream=0)
    buf1375 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1375]
    launch(kernel_375, buf1375, 605184, grid=(1, 2, 3), stream=0)
    buf1376 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1376]
    launch(kernel_376, buf1376, 605184, grid=(1, 2, 3), stream=0)
    buf1377 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1377]
    launch(kernel_377, buf1377, 605184, grid=(1, 2, 3), stream=0)
    buf1378 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1378]
    launch(kernel_378, buf1378, 605184, grid=(1, 2, 3), stream=0)
    buf1379 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1379]
    launch(kernel_379, buf1379, 605184, grid=(1, 2, 3), stream=0)
    buf1380 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1380]
    launch(kernel_380, buf1380, 605184, grid=(1, 2, 3), stream=0)
    buf1381 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1381]
    launch(kernel_381, buf1381, 605184, grid=(1, 2, 3), stream=0)
    buf1382 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1382]
    launch(kernel_382, buf1382, 605184, grid=(1, 2, 3), stream=0)
    buf1383 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1383]
    launch(kernel_383, buf1383, 605184, grid=(1, 2, 3), stream=0)
    buf1384 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1384]
    launch(kernel_384, buf1384, 605184, grid=(1, 2, 3), stream=0)
    buf1385 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1385]
    launch(kernel_385, buf1385, 605184, grid=(1, 2, 3), stream=0)
    buf1386 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1386]
    launch(kernel_386, buf1386, 605184, grid=(1, 2, 3), stream=0)
    buf1387 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1387]
    launch(kernel_387, buf1387, 605184, grid=(1, 2, 3), stream=0)
    buf1388 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1388]
    launch(kernel_388, buf1388, 605184, grid=(1, 2, 3), stream=0)
    buf1389 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1389]
    launch(kernel_389, buf1389, 605184, grid=(1, 2, 3), stream=0)
    buf1390 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1390]
    launch(kernel_390, buf1390, 605184, grid=(1, 2, 3), stream=0)
    buf1391 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1391]
    launch(kernel_391, buf1391, 605184, grid=(1, 2, 3), stream=0)
    buf1392 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1392]
    launch(kernel_392, buf1392, 605184, grid=(1, 2, 3), stream=0)
    buf1393 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1393]
    launch(kernel_393, buf1393, 605184, grid=(1, 2, 3), stream=0)
    buf1394 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1394]
    launch(kernel_394, buf1394, 605184, grid=(1, 2, 3), stream=0)
    buf1395 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1395]
    launch(kernel_395, buf1395, 605184, grid=(1, 2, 3), stream=0)
    buf1396 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1396]
    launch(kernel_396, buf1396, 605184, grid=(1, 2, 3), stream=0)
    buf1397 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1397]
    launch(kernel_397, buf1397, 605184, grid=(1, 2, 3), stream=0)
    buf1398 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1398]
    launch(kernel_398, buf1398, 605184, grid=(1, 2, 3), stream=0)
    buf1399 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1399]
    launch(kernel_399, buf1399, 605184, grid=(1, 2, 3), stream=0)
    buf1400 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1400]
    launch(kernel_400, buf1400, 605184, grid=(1, 2, 3), stream=0)
    buf1401 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1401]
    launch(kernel_401, buf1401, 605184, grid=(1, 2, 3), stream=0)
    buf1402 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1402]
    launch(kernel_402, buf1402, 605184, grid=(1, 2, 3), stream=0)
    buf1403 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1403]
    launch(kernel_403, buf1403, 605184, grid=(1, 2, 3), stream=0)
    buf1404 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1404]
    launch(kernel_404, buf1404, 605184, grid=(1, 2, 3), stream=0)
    buf1405 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1405]
    launch(kernel_405, buf1405, 605184, grid=(1, 2, 3), stream=0)
    buf1406 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1406]
    launch(kernel_406, buf1406, 605184, grid=(1, 2, 3), stream=0)
    buf1407 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1407]
    launch(kernel_407, buf1407, 605184, grid=(1, 2, 3), stream=0)
    buf1408 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1408]
    launch(kernel_408, buf1408, 605184, grid=(1, 2, 3), stream=0)
    buf1409 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1409]
    launch(kernel_409, buf1409, 605184, grid=(1, 2, 3), stream=0)
    buf1410 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1410]
    launch(kernel_410, buf1410, 605184, grid=(1, 2, 3), stream=0)
    buf1411 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1411]
    launch(kernel_411, buf1411, 605184, grid=(1, 2, 3), stream=0)
    buf1412 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1412]
    launch(kernel_412, buf1412, 605184, grid=(1, 2, 3), stream=0)
    buf1413 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1413]
    launch(kernel_413, buf1413, 605184, grid=(1, 2, 3), stream=0)
    buf1414 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1414]
    launch(kernel_414, buf1414, 605184, grid=(1, 2, 3), stream=0)
    buf1415 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1415]
    launch(kernel_415, buf1415, 605184, grid=(1, 2, 3), stream=0)
    buf1416 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1416]
    launch(kernel_416, buf1416, 605184, grid=(1, 2, 3), stream=0)
    buf1417 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1417]
    launch(kernel_417, buf1417, 605184, grid=(1, 2, 3), stream=0)
    buf1418 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1418]
    launch(kernel_418, buf1418, 605184, grid=(1, 2, 3), stream=0)
    buf1419 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1419]
    launch(kernel_419, buf1419, 605184, grid=(1, 2, 3), stream=0)
    buf1420 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1420]
    launch(kernel_420, buf1420, 605184, grid=(1, 2, 3), stream=0)
    buf1421 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1421]
    launch(kernel_421, buf1421, 605184, grid=(1, 2, 3), stream=0)
    buf1422 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1422]
    launch(kernel_422, buf1422, 605184, grid=(1, 2, 3), stream=0)
    buf1423 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1423]
    launch(kernel_423, buf1423, 605184, grid=(1, 2, 3), stream=0)
    buf1424 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1424]
    launch(kernel_424, buf1424, 605184, grid=(1, 2, 3), stream=0)
    buf1425 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1425]
    launch(kernel_425, buf1425, 605184, grid=(1, 2, 3), stream=0)
    buf1426 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1426]
    launch(kernel_426, buf1426, 605184, grid=(1, 2, 3), stream=0)
    buf1427 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1427]
    launch(kernel_427, buf1427, 605184, grid=(1, 2, 3), stream=0)
    buf1428 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1428]
    launch(kernel_428, buf1428, 605184, grid=(1, 2, 3), stream=0)
    buf1429 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1429]
    launch(kernel_429, buf1429, 605184, grid=(1, 2, 3), stream=0)
    buf1430 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1430]
    launch(kernel_430, buf1430, 605184, grid=(1, 2, 3), stream=0)
    buf1431 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1431]
    launch(kernel_431, buf1431, 605184, grid=(1, 2, 3), stream=0)
    buf1432 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1432]
    launch(kernel_432, buf1432, 605184, grid=(1, 2, 3), stream=0)
    buf1433 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1433]
    launch(kernel_433, buf1433, 605184, grid=(1, 2, 3), stream=0)
    buf1434 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1434]
    launch(kernel_434, buf1434, 605184, grid=(1, 2, 3), stream=0)
    buf1435 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1435]
    launch(kernel_435, buf1435, 605184, grid=(1, 2, 3), stream=0)
    buf1436 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1436]
    launch(kernel_436, buf1436, 605184, grid=(1, 2, 3), stream=0)
    buf1437 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1437]
    launch(kernel_437, buf1437, 605184, grid=(1, 2, 3), stream=0)
    buf1438 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1438]
    launch(kernel_438, buf1438, 605184, grid=(1, 2, 3), stream=0)
    buf1439 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1439]
    launch(kernel_439, buf1439, 605184, grid=(1, 2, 3), stream=0)
    buf1440 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1440]
    launch(kernel_440, buf1440, 605184, grid=(1, 2, 3), stream=0)
    buf1441 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1441]
    launch(kernel_441, buf1441, 605184, grid=(1, 2, 3), stream=0)
    buf1442 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1442]
    launch(kernel_442, buf1442, 605184, grid=(1, 2, 3), stream=0)
    buf1443 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1443]
    launch(kernel_443, buf1443, 605184, grid=(1, 2, 3), stream=0)
    buf1444 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1444]
    launch(kernel_444, buf1444, 605184, grid=(1, 2, 3), stream=0)
    buf1445 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1445]
    launch(kernel_445, buf1445, 605184, grid=(1, 2, 3), stream=0)
    buf1446 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1446]
    launch(kernel_446, buf1446, 605184, grid=(1, 2, 3), stream=0)
    buf1447 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1447]
    launch(kernel_447, buf1447, 605184, grid=(1, 2, 3), stream=0)
    buf1448 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1448]
    launch(kernel_448, buf1448, 605184, grid=(1, 2, 3), stream=0)
    buf1449 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1449]
    launch(kernel_449, buf1449, 605184, grid=(1, 2, 3), stream=0)
    buf1450 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1450]
    launch(kernel_450, buf1450, 605184, grid=(1, 2, 3), stream=0)
    buf1451 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1451]
    launch(kernel_451, buf1451, 605184, grid=(1, 2, 3), stream=0)
    buf1452 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1452]
    launch(kernel_452, buf1452, 605184, grid=(1, 2, 3), stream=0)
    buf1453 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1453]
    launch(kernel_453, buf1453, 605184, grid=(1, 2, 3), stream=0)
    buf1454 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1454]
    launch(kernel_454, buf1454, 605184, grid=(1, 2, 3), stream=0)
    buf1455 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1455]
    launch(kernel_455, buf1455, 605184, grid=(1, 2, 3), stream=0)
    buf1456 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1456]
    launch(kernel_456, buf1456, 605184, grid=(1, 2, 3), stream=0)
    buf1457 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1457]
    launch(kernel_457, buf1457, 605184, grid=(1, 2, 3), stream=0)
    buf1458 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1458]
    launch(kernel_458, buf1458, 605184, grid=(1, 2, 3), stream=0)
    buf1459 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1459]
    launch(kernel_459, buf1459, 605184, grid=(1, 2, 3), stream=0)
    buf1460 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1460]
    launch(kernel_460, buf1460, 605184, grid=(1, 2, 3), stream=0)
    buf1461 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1461]
    launch(kernel_461, buf1461, 605184, grid=(1, 2, 3), stream=0)
    buf1462 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1462]
    launch(kernel_462, buf1462, 605184, grid=(1, 2, 3), stream=0)
    buf1463 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1463]
    launch(kernel_463, buf1463, 605184, grid=(1, 2, 3), stream=0)
    buf1464 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1464]
    launch(kernel_464, buf1464, 605184, grid=(1, 2, 3), stream=0)
    buf1465 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1465]
    launch(kernel_465, buf1465, 605184, grid=(1, 2, 3), stream=0)
    buf1466 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1466]
    launch(kernel_466, buf1466, 605184, grid=(1, 2, 3), stream=0)
    buf1467 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1467]
    launch(kernel_467, buf1467, 605184, grid=(1, 2, 3), stream=0)
    buf1468 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1468]
    launch(kernel_468, buf1468, 605184, grid=(1, 2, 3), stream=0)
    buf1469 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1469]
    launch(kernel_469, buf1469, 605184, grid=(1, 2, 3), stream=0)
    buf1470 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1470]
    launch(kernel_470, buf1470, 605184, grid=(1, 2, 3), stream=0)
    buf1471 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1471]
    launch(kernel_471, buf1471, 605184, grid=(1, 2, 3), stream=0)
    buf1472 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1472]
    launch(kernel_472, buf1472, 605184, grid=(1, 2, 3), stream=0)
    buf1473 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1473]
    launch(kernel_473, buf1473, 605184, grid=(1, 2, 3), stream=0)
    buf1474 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1474]
    launch(kernel_474, buf1474, 605184, grid=(1, 2, 3), stream=0)
    buf1475 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1475]
    launch(kernel_475, buf1475, 605184, grid=(1, 2, 3), stream=0)
    buf1476 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1476]
    launch(kernel_476, buf1476, 605184, grid=(1, 2, 3), stream=0)
    buf1477 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1477]
    launch(kernel_477, buf1477, 605184, grid=(1, 2, 3), stream=0)
    buf1478 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1478]
    launch(kernel_478, buf1478, 605184, grid=(1, 2, 3), stream=0)
    buf1479 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1479]
    launch(kernel_479, buf1479, 605184, grid=(1, 2, 3), stream=0)
    buf1480 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1480]
    launch(kernel_480, buf1480, 605184, grid=(1, 2, 3), stream=0)
    buf1481 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1481]
    launch(kernel_481, buf1481, 605184, grid=(1, 2, 3), stream=0)
    buf1482 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1482]
    launch(kernel_482, buf1482, 605184, grid=(1, 2, 3), stream=0)
    buf1483 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1483]
    launch(kernel_483, buf1483, 605184, grid=(1, 2, 3), stream=0)
    buf1484 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1484]
    launch(kernel_484, buf1484, 605184, grid=(1, 2, 3), stream=0)
    buf1485 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1485]
    launch(kernel_485, buf1485, 605184, grid=(1, 2, 3), stream=0)
    buf1486 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1486]
    launch(kernel_486, buf1486, 605184, grid=(1, 2, 3), stream=0)
    buf1487 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1487]
    launch(kernel_487, buf1487, 605184, grid=(1, 2, 3), stream=0)
    buf1488 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1488]
    launch(kernel_488, buf1488, 605184, grid=(1, 2, 3), stream=0)
    buf1489 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1489]
    launch(kernel_489, buf1489, 605184, grid=(1, 2, 3), stream=0)
    buf1490 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1490]
    launch(kernel_490, buf1490, 605184, grid=(1, 2, 3), stream=0)
    buf1491 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1491]
    launch(kernel_491, buf1491, 605184, grid=(1, 2, 3), stream=0)
    buf1492 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1492]
    launch(kernel_492, buf1492, 605184, grid=(1, 2, 3), stream=0)
    buf1493 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1493]
    launch(kernel_493, buf1493, 605184, grid=(1, 2, 3), stream=0)
    buf1494 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1494]
    launch(kernel_494, buf1494, 605184, grid=(1, 2, 3), stream=0)
    buf1495 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1495]
    launch(kernel_495, buf1495, 605184, grid=(1, 2, 3), stream=0)
    buf1496 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1496]
    launch(kernel_496, buf1496, 605184, grid=(1, 2, 3), stream=0)
    buf1497 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1497]
    launch(kernel_497, buf1497, 605184, grid=(1, 2, 3), stream=0)
    buf1498 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1498]
    launch(kernel_498, buf1498, 605184, grid=(1, 2, 3), stream=0)
    buf1499 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1499]
    launch(kernel_499, buf1499, 605184, grid=(1, 2, 3), stream=0)
    buf1500 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1500]
    launch(kernel_500, buf1500, 605184, grid=(1, 2, 3), stream=0)
    buf1501 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1501]
    launch(kernel_501, buf1501, 605184, grid=(1, 2, 3), stream=0)
    buf1502 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1502]
    launch(kernel_502, buf1502, 605184, grid=(1, 2, 3), stream=0)
    buf1503 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1503]
    launch(kernel_503, buf1503, 605184, grid=(1, 2, 3), stream=0)
    buf1504 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1504]
    launch(kernel_504, buf1504, 605184, grid=(1, 2, 3), stream=0)
    buf1505 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1505]
    launch(kernel_505, buf1505, 605184, grid=(1, 2, 3), stream=0)
    buf1506 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1506]
    launch(kernel_506, buf1506, 605184, grid=(1, 2, 3), stream=0)
    buf1507 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1507]
    launch(kernel_507, buf1507, 605184, grid=(1, 2, 3), stream=0)
    buf1508 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1508]
    launch(kernel_508, buf1508, 605184, grid=(1, 2, 3), stream=0)
    buf1509 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1509]
    launch(kernel_509, buf1509, 605184, grid=(1, 2, 3), stream=0)
    buf1510 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1510]
    launch(kernel_510, buf1510, 605184, grid=(1, 2, 3), stream=0)
    buf1511 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1511]
    launch(kernel_511, buf1511, 605184, grid=(1, 2, 3), stream=0)
    buf1512 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1512]
    launch(kernel_512, buf1512, 605184, grid=(1, 2, 3), stream=0)
    buf1513 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1513]
    launch(kernel_513, buf1513, 605184, grid=(1, 2, 3), stream=0)
    buf1514 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1514]
    launch(kernel_514, buf1514, 605184, grid=(1, 2, 3), stream=0)
    buf1515 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1515]
    launch(kernel_515, buf1515, 605184, grid=(1, 2, 3), stream=0)
    buf1516 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1516]
    launch(kernel_516, buf1516, 605184, grid=(1, 2, 3), stream=0)
    buf1517 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1517]
    launch(kernel_517, buf1517, 605184, grid=(1, 2, 3), stream=0)
    buf1518 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1518]
    launch(kernel_518, buf1518, 605184, grid=(1, 2, 3), stream=0)
    buf1519 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1519]
    launch(kernel_519, buf1519, 605184, grid=(1, 2, 3), stream=0)
    buf1520 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1520]
    launch(kernel_520, buf1520, 605184, grid=(1, 2, 3), stream=0)
    buf1521 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1521]
    launch(kernel_521, buf1521, 605184, grid=(1, 2, 3), stream=0)
    buf1522 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1522]
    launch(kernel_522, buf1522, 605184, grid=(1, 2, 3), stream=0)
    buf1523 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1523]
    launch(kernel_523, buf1523, 605184, grid=(1, 2, 3), stream=0)
    buf1524 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1524]
    launch(kernel_524, buf1524, 605184, grid=(1, 2, 3), stream=0)
    buf1525 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1525]
    launch(kernel_525, buf1525, 605184, grid=(1, 2, 3), stream=0)
    buf1526 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1526]
    launch(kernel_526, buf1526, 605184, grid=(1, 2, 3), stream=0)
    buf1527 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1527]
    launch(kernel_527, buf1527, 605184, grid=(1, 2, 3), stream=0)
    buf1528 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1528]
    launch(kernel_528, buf1528, 605184, grid=(1, 2, 3), stream=0)
    buf1529 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1529]
    launch(kernel_529, buf1529, 605184, grid=(1, 2, 3), stream=0)
    buf1530 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1530]
    launch(kernel_530, buf1530, 605184, grid=(1, 2, 3), stream=0)
    buf1531 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1531]
    launch(kernel_531, buf1531, 605184, grid=(1, 2, 3), stream=0)
    buf1532 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1532]
    launch(kernel_532, buf1532, 605184, grid=(1, 2, 3), stream=0)
    buf1533 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1533]
    launch(kernel_533, buf1533, 605184, grid=(1, 2, 3), stream=0)
    buf1534 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1534]
    launch(kernel_534, buf1534, 605184, grid=(1, 2, 3), stream=0)
    buf1535 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1535]
    launch(kernel_535, buf1535, 605184, grid=(1, 2, 3), stream=0)
    buf1536 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1536]
    launch(kernel_536, buf1536, 605184, grid=(1, 2, 3), stream=0)
    buf1537 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1537]
    launch(kernel_537, buf1537, 605184, grid=(1, 2, 3), stream=0)
    buf1538 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1538]
    launch(kernel_538, buf1538, 605184, grid=(1, 2, 3), stream=0)
    buf1539 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1539]
    launch(kernel_539, buf1539, 605184, grid=(1, 2, 3), stream=0)
    buf1540 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1540]
    launch(kernel_540, buf1540, 605184, grid=(1, 2, 3), stream=0)
    buf1541 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1541]
    launch(kernel_541, buf1541, 605184, grid=(1, 2, 3), stream=0)
    buf1542 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1542]
    launch(kernel_542, buf1542, 605184, grid=(1, 2, 3), stream=0)
    buf1543 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1543]
    launch(kernel_543, buf1543, 605184, grid=(1, 2, 3), stream=0)
    buf1544 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1544]
    launch(kernel_544, buf1544, 605184, grid=(1, 2, 3), stream=0)
    buf1545 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1545]
    launch(kernel_545, buf1545, 605184, grid=(1, 2, 3), stream=0)
    buf1546 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1546]
    launch(kernel_546, buf1546, 605184, grid=(1, 2, 3), stream=0)
    buf1547 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1547]
    launch(kernel_547, buf1547, 605184, grid=(1, 2, 3), stream=0)
    buf1548 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1548]
    launch(kernel_548, buf1548, 605184, grid=(1, 2, 3), stream=0)
    buf1549 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1549]
    launch(kernel_549, buf1549, 605184, grid=(1, 2, 3), stream=0)
    buf1550 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1550]
    launch(kernel_550, buf1550, 605184, grid=(1, 2, 3), stream=0)
    buf1551 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1551]
    launch(kernel_551, buf1551, 605184, grid=(1, 2, 3), stream=0)
    buf1552 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1552]
    launch(kernel_552, buf1552, 605184, grid=(1, 2, 3), stream=0)
    buf1553 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1553]
    launch(kernel_553, buf1553, 605184, grid=(1, 2, 3), stream=0)
    buf1554 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1554]
    launch(kernel_554, buf1554, 605184, grid=(1, 2, 3), stream=0)
    buf1555 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1555]
    launch(kernel_555, buf1555, 605184, grid=(1, 2, 3), stream=0)
    buf1556 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1556]
    launch(kernel_556, buf1556, 605184, grid=(1, 2, 3), stream=0)
    buf1557 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1557]
    launch(kernel_557, buf1557, 605184, grid=(1, 2, 3), stream=0)
    buf1558 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1558]
    launch(kernel_558, buf1558, 605184, grid=(1, 2, 3), stream=0)
    buf1559 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1559]
    launch(kernel_559, buf1559, 605184, grid=(1, 2, 3), stream=0)
    buf1560 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1560]
    launch(kernel_560, buf1560, 605184, grid=(1, 2, 3), stream=0)
    buf1561 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1561]
    launch(kernel_561, buf1561, 605184, grid=(1, 2, 3), stream=0)
    buf1562 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1562]
    launch(kernel_562, buf1562, 605184, grid=(1, 2, 3), stream=0)
    buf1563 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1563]
    launch(kernel_563, buf1563, 605184, grid=(1, 2, 3), stream=0)
    buf1564 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1564]
    launch(kernel_564, buf1564, 605184, grid=(1, 2, 3), stream=0)
    buf1565 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1565]
    launch(kernel_565, buf1565, 605184, grid=(1, 2, 3), stream=0)
    buf1566 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1566]
    launch(kernel_566, buf1566, 605184, grid=(1, 2, 3), stream=0)
    buf1567 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1567]
    launch(kernel_567, buf1567, 605184, grid=(1, 2, 3), stream=0)
    buf1568 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1568]
    launch(kernel_568, buf1568, 605184, grid=(1, 2, 3), stream=0)
    buf1569 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1569]
    launch(kernel_569, buf1569, 605184, grid=(1, 2, 3), stream=0)
    buf1570 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1570]
    launch(kernel_570, buf1570, 605184, grid=(1, 2, 3), stream=0)
    buf1571 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1571]
    launch(kernel_571, buf1571, 605184, grid=(1, 2, 3), stream=0)
    buf1572 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1572]
    launch(kernel_572, buf1572, 605184, grid=(1, 2, 3), stream=0)
    buf1573 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1573]
    launch(kernel_573, buf1573, 605184, grid=(1, 2, 3), stream=0)
    buf1574 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1574]
    launch(kernel_574, buf1574, 605184, grid=(1, 2, 3), stream=0)
    buf1575 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1575]
    launch(kernel_575, buf1575, 605184, grid=(1, 2, 3), stream=0)
    buf1576 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1576]
    launch(kernel_576, buf1576, 605184, grid=(1, 2, 3), stream=0)
    buf1577 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1577]
    launch(kernel_577, buf1577, 605184, grid=(1, 2, 3), stream=0)
    buf1578 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1578]
    launch(kernel_578, buf1578, 605184, grid=(1, 2, 3), stream=0)
    buf1579 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1579]
    launch(kernel_579, buf1579, 605184, grid=(1, 2, 3), stream=0)
    buf1580 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1580]
    launch(kernel_580, buf1580, 605184, grid=(1, 2, 3), stream=0)
    buf1581 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1581]
    launch(kernel_581, buf1581, 605184, grid=(1, 2, 3), stream=0)
    buf1582 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1582]
    launch(kernel_582, buf1582, 605184, grid=(1, 2, 3), stream=0)
    buf1583 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1583]
    launch(kernel_583, buf1583, 605184, grid=(1, 2, 3), stream=0)
    buf1584 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1584]
    launch(kernel_584, buf1584, 605184, grid=(1, 2, 3), stream=0)
    buf1585 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1585]
    launch(kernel_585, buf1585, 605184, grid=(1, 2, 3), stream=0)
    buf1586 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1586]
    launch(kernel_586, buf1586, 605184, grid=(1, 2, 3), stream=0)
    buf1587 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1587]
    launch(kernel_587, buf1587, 605184, grid=(1, 2, 3), stream=0)
    buf1588 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1588]
    launch(kernel_588, buf1588, 605184, grid=(1, 2, 3), stream=0)
    buf1589 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1589]
    launch(kernel_589, buf1589, 605184, grid=(1, 2, 3), stream=0)
    buf1590 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1590]
    launch(kernel_590, buf1590, 605184, grid=(1, 2, 3), stream=0)
    buf1591 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1591]
    launch(kernel_591, buf1591, 605184, grid=(1, 2, 3), stream=0)
    buf1592 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1592]
    launch(kernel_592, buf1592, 605184, grid=(1, 2, 3), stream=0)
    buf1593 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1593]
    launch(kernel_593, buf1593, 605184, grid=(1, 2, 3), stream=0)
    buf1594 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1594]
    launch(kernel_594, buf1594, 605184, grid=(1, 2, 3), stream=0)
    buf1595 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1595]
    launch(kernel_595, buf1595, 605184, grid=(1, 2, 3), stream=0)
    buf1596 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1596]
    launch(kernel_596, buf1596, 605184, grid=(1, 2, 3), stream=0)
    buf1597 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1597]
    launch(kernel_597, buf1597, 605184, grid=(1, 2, 3), stream=0)
    buf1598 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1598]
    launch(kernel_598, buf1598, 605184, grid=(1, 2, 3), stream=0)
    buf1599 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1599]
    launch(kernel_599, buf1599, 605184, grid=(1, 2, 3), stream=0)
    buf1600 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1600]
    launch(kernel_600, buf1600, 605184, grid=(1, 2, 3), stream=0)
    buf1601 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1601]
    launch(kernel_601, buf1601, 605184, grid=(1, 2, 3), stream=0)
    buf1602 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1602]
    launch(kernel_602, buf1602, 605184, grid=(1, 2, 3), stream=0)
    buf1603 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1603]
    launch(kernel_603, buf1603, 605184, grid=(1, 2, 3), stream=0)
    buf1604 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1604]
    launch(kernel_604, buf1604, 605184, grid=(1, 2, 3), stream=0)
    buf1605 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1605]
    launch(kernel_605, buf1605, 605184, grid=(1, 2, 3), stream=0)
    buf1606 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1606]
    launch(kernel_606, buf1606, 605184, grid=(1, 2, 3), stream=0)
    buf1607 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1607]
    launch(kernel_607, buf1607, 605184, grid=(1, 2, 3), stream=0)
    buf1608 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1608]
    launch(kernel_608, buf1608, 605184, grid=(1, 2, 3), stream=0)
    buf1609 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1609]
    launch(kernel_609, buf1609, 605184, grid=(1, 2, 3), stream=0)
    buf1610 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1610]
    launch(kernel_610, buf1610, 605184, grid=(1, 2, 3), stream=0)
    buf1611 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1611]
    launch(kernel_611, buf1611, 605184, grid=(1, 2, 3), stream=0)
    buf1612 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1612]
    launch(kernel_612, buf1612, 605184, grid=(1, 2, 3), stream=0)
    buf1613 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1613]
    launch(kernel_613, buf1613, 605184, grid=(1, 2, 3), stream=0)
    buf1614 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1614]
    launch(kernel_614, buf1614, 605184, grid=(1, 2, 3), stream=0)
    buf1615 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1615]
    launch(kernel_615, buf1615, 605184, grid=(1, 2, 3), stream=0)
    buf1616 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1616]
    launch(kernel_616, buf1616, 605184, grid=(1, 2, 3), stream=0)
    buf1617 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1617]
    launch(kernel_617, buf1617, 605184, grid=(1, 2, 3), stream=0)
    buf1618 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1618]
    launch(kernel_618, buf1618, 605184, grid=(1, 2, 3), stream=0)
    buf1619 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1619]
    launch(kernel_619, buf1619, 605184, grid=(1, 2, 3), stream=0)
    buf1620 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1620]
    launch(kernel_620, buf1620, 605184, grid=(1, 2, 3), stream=0)
    buf1621 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1621]
    launch(kernel_621, buf1621, 605184, grid=(1, 2, 3), stream=0)
    buf1622 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1622]
    launch(kernel_622, buf1622, 605184, grid=(1, 2, 3), stream=0)
    buf1623 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1623]
    launch(kernel_623, buf1623, 605184, grid=(1, 2, 3), stream=0)
    buf1624 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1624]
    launch(kernel_624, buf1624, 605184, grid=(1, 2, 3), stream=0)
    buf1625 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1625]
    launch(kernel_625, buf1625, 605184, grid=(1, 2, 3), stream=0)
    buf1626 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1626]
    launch(kernel_626, buf1626, 605184, grid=(1, 2, 3), stream=0)
    buf1627 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1627]
    launch(kernel_627, buf1627, 605184, grid=(1, 2, 3), stream=0)
    buf1628 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1628]
    launch(kernel_628, buf1628, 605184, grid=(1, 2, 3), stream=0)
    buf1629 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1629]
    launch(kernel_629, buf1629, 605184, grid=(1, 2, 3), stream=0)
    buf1630 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1630]
    launch(kernel_630, buf1630, 605184, grid=(1, 2, 3), stream=0)
    buf1631 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1631]
    launch(kernel_631, buf1631, 605184, grid=(1, 2, 3), stream=0)
    buf1632 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1632]
    launch(kernel_632, buf1632, 605184, grid=(1, 2, 3), stream=0)
    buf1633 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1633]
    launch(kernel_633, buf1633, 605184, grid=(1, 2, 3), stream=0)
    buf1634 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1634]
    launch(kernel_634, buf1634, 605184, grid=(1, 2, 3), stream=0)
    buf1635 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1635]
    launch(kernel_635, buf1635, 605184, grid=(1, 2, 3), stream=0)
    buf1636 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1636]
    launch(kernel_636, buf1636, 605184, grid=(1, 2, 3), stream=0)
    buf1637 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1637]
    launch(kernel_637, buf1637, 605184, grid=(1, 2, 3), stream=0)
    buf1638 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1638]
    launch(kernel_638, buf1638, 605184, grid=(1, 2, 3), stream=0)
    buf1639 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1639]
    launch(kernel_639, buf1639, 605184, grid=(1, 2, 3), stream=0)
    buf1640 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1640]
    launch(kernel_640, buf1640, 605184, grid=(1, 2, 3), stream=0)
    buf1641 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1641]
    launch(kernel_641, buf1641, 605184, grid=(1, 2, 3), stream=0)
    buf1642 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1642]
    launch(kernel_642, buf1642, 605184, grid=(1, 2, 3), stream=0)
    buf1643 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1643]
    launch(kernel_643, buf1643, 605184, grid=(1, 2, 3), stream=0)
    buf1644 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1644]
    launch(kernel_644, buf1644, 605184, grid=(1, 2, 3), stream=0)
    buf1645 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1645]
    launch(kernel_645, buf1645, 605184, grid=(1, 2, 3), stream=0)
    buf1646 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1646]
    launch(kernel_646, buf1646, 605184, grid=(1, 2, 3), stream=0)
    buf1647 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1647]
    launch(kernel_647, buf1647, 605184, grid=(1, 2, 3), stream=0)
    buf1648 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1648]
    launch(kernel_648, buf1648, 605184, grid=(1, 2, 3), stream=0)
    buf1649 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1649]
    launch(kernel_649, buf1649, 605184, grid=(1, 2, 3), stream=0)
    buf1650 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1650]
    launch(kernel_650, buf1650, 605184, grid=(1, 2, 3), stream=0)
    buf1651 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1651]
    launch(kernel_651, buf1651, 605184, grid=(1, 2, 3), stream=0)
    buf1652 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1652]
    launch(kernel_652, buf1652, 605184, grid=(1, 2, 3), stream=0)
    buf1653 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1653]
    launch(kernel_653, buf1653, 605184, grid=(1, 2, 3), stream=0)
    buf1654 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1654]
    launch(kernel_654, buf1654, 605184, grid=(1, 2, 3), stream=0)
    buf1655 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1655]
    launch(kernel_655, buf1655, 605184, grid=(1, 2, 3), stream=0)
    buf1656 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1656]
    launch(kernel_656, buf1656, 605184, grid=(1, 2, 3), stream=0)
    buf1657 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1657]
    launch(kernel_657, buf1657, 605184, grid=(1, 2, 3), stream=0)
    buf1658 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1658]
    launch(kernel_658, buf1658, 605184, grid=(1, 2, 3), stream=0)
    buf1659 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1659]
    launch(kernel_659, buf1659, 605184, grid=(1, 2, 3), stream=0)
    buf1660 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1660]
    launch(kernel_660, buf1660, 605184, grid=(1, 2, 3), stream=0)
    buf1661 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1661]
    launch(kernel_661, buf1661, 605184, grid=(1, 2, 3), stream=0)
    buf1662 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1662]
    launch(kernel_662, buf1662, 605184, grid=(1, 2, 3), stream=0)
    buf1663 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1663]
    launch(kernel_663, buf1663, 605184, grid=(1, 2, 3), stream=0)
    buf1664 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1664]
    launch(kernel_664, buf1664, 605184, grid=(1, 2, 3), stream=0)
    buf1665 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1665]
    launch(kernel_665, buf1665, 605184, grid=(1, 2, 3), stream=0)
    buf1666 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1666]
    launch(kernel_666, buf1666, 605184, grid=(1, 2, 3), stream=0)
    buf1667 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1667]
    launch(kernel_667, buf1667, 605184, grid=(1, 2, 3), stream=0)
    buf1668 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1668]
    launch(kernel_668, buf1668, 605184, grid=(1, 2, 3), stream=0)
    buf1669 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1669]
    launch(kernel_669, buf1669, 605184, grid=(1, 2, 3), stream=0)
    buf1670 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1670]
    launch(kernel_670, buf1670, 605184, grid=(1, 2, 3), stream=0)
    buf1671 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1671]
    launch(kernel_671, buf1671, 605184, grid=(1, 2, 3), stream=0)
    buf1672 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1672]
    launch(kernel_672, buf1672, 605184, grid=(1, 2, 3), stream=0)
    buf1673 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1673]
    launch(kernel_673, buf1673, 605184, grid=(1, 2, 3), stream=0)
    buf1674 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1674]
    launch(kernel_674, buf1674, 605184, grid=(1, 2, 3), stream=0)
    buf1675 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1675]
    launch(kernel_675, buf1675, 605184, grid=(1, 2, 3), stream=0)
    buf1676 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1676]
    launch(kernel_676, buf1676, 605184, grid=(1, 2, 3), stream=0)
    buf1677 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1677]
    launch(kernel_677, buf1677, 605184, grid=(1, 2, 3), stream=0)
    buf1678 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1678]
    launch(kernel_678, buf1678, 605184, grid=(1, 2, 3), stream=0)
    buf1679 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1679]
    launch(kernel_679, buf1679, 605184, grid=(1, 2, 3), stream=0)
    buf1680 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1680]
    launch(kernel_680, buf1680, 605184, grid=(1, 2, 3), stream=0)
    buf1681 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1681]
    launch(kernel_681, buf1681, 605184, grid=(1, 2, 3), stream=0)
    buf1682 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1682]
    launch(kernel_682, buf1682, 605184, grid=(1, 2, 3), stream=0)
    buf1683 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1683]
    launch(kernel_683, buf1683, 605184, grid=(1, 2, 3), stream=0)
    buf1684 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1684]
    launch(kernel_684, buf1684, 605184, grid=(1, 2, 3), stream=0)
    buf1685 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1685]
    launch(kernel_685, buf1685, 605184, grid=(1, 2, 3), stream=0)
    buf1686 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1686]
    launch(kernel_686, buf1686, 605184, grid=(1, 2, 3), stream=0)
    buf1687 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1687]
    launch(kernel_687, buf1687, 605184, grid=(1, 2, 3), stream=0)
    buf1688 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1688]
    launch(kernel_688, buf1688, 605184, grid=(1, 2, 3), stream=0)
    buf1689 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1689]
    launch(kernel_689, buf1689, 605184, grid=(1, 2, 3), stream=0)
    buf1690 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1690]
    launch(kernel_690, buf1690, 605184, grid=(1, 2, 3), stream=0)
    buf1691 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1691]
    launch(kernel_691, buf1691, 605184, grid=(1, 2, 3), stream=0)
    buf1692 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1692]
    launch(kernel_692, buf1692, 605184, grid=(1, 2, 3), stream=0)
    buf1693 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1693]
    launch(kernel_693, buf1693, 605184, grid=(1, 2, 3), stream=0)
    buf1694 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1694]
    launch(kernel_694, buf1694, 605184, grid=(1, 2, 3), stream=0)
    buf1695 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1695]
    launch(kernel_695, buf1695, 605184, grid=(1, 2, 3), stream=0)
    buf1696 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1696]
    launch(kernel_696, buf1696, 605184, grid=(1, 2, 3), stream=0)
    buf1697 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1697]
    launch(kernel_697, buf1697, 605184, grid=(1, 2, 3), stream=0)
    buf1698 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1698]
    launch(kernel_698, buf1698, 605184, grid=(1, 2, 3), stream=0)
    buf1699 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1699]
    launch(kernel_699, buf1699, 605184, grid=(1, 2, 3), stream=0)
    buf1700 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1700]
    launch(kernel_700, buf1700, 605184, grid=(1, 2, 3), stream=0)
    buf1701 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1701]
    launch(kernel_701, buf1701, 605184, grid=(1, 2, 3), stream=0)
    buf1702 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1702]
    launch(kernel_702, buf1702, 605184, grid=(1, 2, 3), stream=0)
    buf1703 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1703]
    launch(kernel_703, buf1703, 605184, grid=(1, 2, 3), stream=0)
    buf1704 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1704]
    launch(kernel_704, buf1704, 605184, grid=(1, 2, 3), stream=0)
    buf1705 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1705]
    launch(kernel_705, buf1705, 605184, grid=(1, 2, 3), stream=0)
    buf1706 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1706]
    launch(kernel_706, buf1706, 605184, grid=(1, 2, 3), stream=0)
    buf1707 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1707]
    launch(kernel_707, buf1707, 605184, grid=(1, 2, 3), stream=0)
    buf1708 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1708]
    launch(kernel_708, buf1708, 605184, grid=(1, 2, 3), stream=0)
    buf1709 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1709]
    launch(kernel_709, buf1709, 605184, grid=(1, 2, 3), stream=0)
    buf1710 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1710]
    launch(kernel_710, buf1710, 605184, grid=(1, 2, 3), stream=0)
    buf1711 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1711]
    launch(kernel_711, buf1711, 605184, grid=(1, 2, 3), stream=0)
    buf1712 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1712]
    launch(kernel_712, buf1712, 605184, grid=(1, 2, 3), stream=0)
    buf1713 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1713]
    launch(kernel_713, buf1713, 605184, grid=(1, 2, 3), stream=0)
    buf1714 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1714]
    launch(kernel_714, buf1714, 605184, grid=(1, 2, 3), stream=0)
    buf1715 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1715]
    launch(kernel_715, buf1715, 605184, grid=(1, 2, 3), stream=0)
    buf1716 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1716]
    launch(kernel_716, buf1716, 605184, grid=(1, 2, 3), stream=0)
    buf1717 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1717]
    launch(kernel_717, buf1717, 605184, grid=(1, 2, 3), stream=0)
    buf1718 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1718]
    launch(kernel_718, buf1718, 605184, grid=(1, 2, 3), stream=0)
    buf1719 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1719]
    launch(kernel_719, buf1719, 605184, grid=(1, 2, 3), stream=0)
    buf1720 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1720]
    launch(kernel_720, buf1720, 605184, grid=(1, 2, 3), stream=0)
    buf1721 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1721]
    launch(kernel_721, buf1721, 605184, grid=(1, 2, 3), stream=0)
    buf1722 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1722]
    launch(kernel_722, buf1722, 605184, grid=(1, 2, 3), stream=0)
    buf1723 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1723]
    launch(kernel_723, buf1723, 605184, grid=(1, 2, 3), stream=0)
    buf1724 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1724]
    launch(kernel_724, buf1724, 605184, grid=(1, 2, 3), stream=0)
    buf1725 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1725]
    launch(kernel_725, buf1725, 605184, grid=(1, 2, 3), stream=0)
    buf1726 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1726]
    launch(kernel_726, buf1726, 605184, grid=(1, 2, 3), stream=0)
    buf1727 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1727]
    launch(kernel_727, buf1727, 605184, grid=(1, 2, 3), stream=0)
    buf1728 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1728]
    launch(kernel_728, buf1728, 605184, grid=(1, 2, 3), stream=0)
    buf1729 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1729]
    launch(kernel_729, buf1729, 605184, grid=(1, 2, 3), stream=0)
    buf1730 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1730]
    launch(kernel_730, buf1730, 605184, grid=(1, 2, 3), stream=0)
    buf1731 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1731]
    launch(kernel_731, buf1731, 605184, grid=(1, 2, 3), stream=0)
    buf1732 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1732]
    launch(kernel_732, buf1732, 605184, grid=(1, 2, 3), stream=0)
    buf1733 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1733]
    launch(kernel_733, buf1733, 605184, grid=(1, 2, 3), stream=0)
    buf1734 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1734]
    launch(kernel_734, buf1734, 605184, grid=(1, 2, 3), stream=0)
    buf1735 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1735]
    launch(kernel_735, buf1735, 605184, grid=(1, 2, 3), stream=0)
    buf1736 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1736]
    launch(kernel_736, buf1736, 605184, grid=(1, 2, 3), stream=0)
    buf1737 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1737]
    launch(kernel_737, buf1737, 605184, grid=(1, 2, 3), stream=0)
    buf1738 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1738]
    launch(kernel_738, buf1738, 605184, grid=(1, 2, 3), stream=0)
    buf1739 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1739]
    launch(kernel_739, buf1739, 605184, grid=(1, 2, 3), stream=0)
    buf1740 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1740]
    launch(kernel_740, buf1740, 605184, grid=(1, 2, 3), stream=0)
    buf1741 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1741]
    launch(kernel_741, buf1741, 605184, grid=(1, 2, 3), stream=0)
    buf1742 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1742]
    launch(kernel_742, buf1742, 605184, grid=(1, 2, 3), stream=0)
    buf1743 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1743]
    launch(kernel_743, buf1743, 605184, grid=(1, 2, 3), stream=0)
    buf1744 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1744]
    launch(kernel_744, buf1744, 605184, grid=(1, 2, 3), stream=0)
    buf1745 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1745]
    launch(kernel_745, buf1745, 605184, grid=(1, 2, 3), stream=0)
    buf1746 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1746]
    launch(kernel_746, buf1746, 605184, grid=(1, 2, 3), stream=0)
    buf1747 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1747]
    launch(kernel_747, buf1747, 605184, grid=(1, 2, 3), stream=0)
    buf1748 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1748]
    launch(kernel_748, buf1748, 605184, grid=(1, 2, 3), stream=0)
    buf1749 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1749]
    launch(kernel_749, buf1749, 605184, grid=(1, 2, 3), stream=0)
    buf1750 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1750]
    launch(kernel_750, buf1750, 605184, grid=(1, 2, 3), stream=0)
    buf1751 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1751]
    launch(kernel_751, buf1751, 605184, grid=(1, 2, 3), stream=0)
    buf1752 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1752]
    launch(kernel_752, buf1752, 605184, grid=(1, 2, 3), stream=0)
    buf1753 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1753]
    launch(kernel_753, buf1753, 605184, grid=(1, 2, 3), stream=0)
    buf1754 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1754]
    launch(kernel_754, buf1754, 605184, grid=(1, 2, 3), stream=0)
    buf1755 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1755]
    launch(kernel_755, buf1755, 605184, grid=(1, 2, 3), stream=0)
    buf1756 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1756]
    launch(kernel_756, buf1756, 605184, grid=(1, 2, 3), stream=0)
    buf1757 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1757]
    launch(kernel_757, buf1757, 605184, grid=(1, 2, 3), stream=0)
    buf1758 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1758]
    launch(kernel_758, buf1758, 605184, grid=(1, 2, 3), stream=0)
    buf1759 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1759]
    launch(kernel_759, buf1759, 605184, grid=(1, 2, 3), stream=0)
    buf1760 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1760]
    launch(kernel_760, buf1760, 605184, grid=(1, 2, 3), stream=0)
    buf1761 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1761]
    launch(kernel_761, buf1761, 605184, grid=(1, 2, 3), stream=0)
    buf1762 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1762]
    launch(kernel_762, buf1762, 605184, grid=(1, 2, 3), stream=0)
    buf1763 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1763]
    launch(kernel_763, buf1763, 605184, grid=(1, 2, 3), stream=0)
    buf1764 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1764]
    launch(kernel_764, buf1764, 605184, grid=(1, 2, 3), stream=0)
    buf1765 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1765]
    launch(kernel_765, buf1765, 605184, grid=(1, 2, 3), stream=0)
    buf1766 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1766]
    launch(kernel_766, buf1766, 605184, grid=(1, 2, 3), stream=0)
    buf1767 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1767]
    launch(kernel_767, buf1767, 605184, grid=(1, 2, 3), stream=0)
    buf1768 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1768]
    launch(kernel_768, buf1768, 605184, grid=(1, 2, 3), stream=0)
    buf1769 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1769]
    launch(kernel_769, buf1769, 605184, grid=(1, 2, 3), stream=0)
    buf1770 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1770]
    launch(kernel_770, buf1770, 605184, grid=(1, 2, 3), stream=0)
    buf1771 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1771]
    launch(kernel_771, buf1771, 605184, grid=(1, 2, 3), stream=0)
    buf1772 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1772]
    launch(kernel_772, buf1772, 605184, grid=(1, 2, 3), stream=0)
    buf1773 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1773]
    launch(kernel_773, buf1773, 605184, grid=(1, 2, 3), stream=0)
    buf1774 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1774]
    launch(kernel_774, buf1774, 605184, grid=(1, 2, 3), stream=0)
    buf1775 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1775]
    launch(kernel_775, buf1775, 605184, grid=(1, 2, 3), stream=0)
    buf1776 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1776]
    launch(kernel_776, buf1776, 605184, grid=(1, 2, 3), stream=0)
    buf1777 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1777]
    launch(kernel_777, buf1777, 605184, grid=(1, 2, 3), stream=0)
    buf1778 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1778]
    launch(kernel_778, buf1778, 605184, grid=(1, 2, 3), stream=0)
    buf1779 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1779]
    launch(kernel_779, buf1779, 605184, grid=(1, 2, 3), stream=0)
    buf1780 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1780]
    launch(kernel_780, buf1780, 605184, grid=(1, 2, 3), stream=0)
    buf1781 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1781]
    launch(kernel_781, buf1781, 605184, grid=(1, 2, 3), stream=0)
    buf1782 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1782]
    launch(kernel_782, buf1782, 605184, grid=(1, 2, 3), stream=0)
    buf1783 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1783]
    launch(kernel_783, buf1783, 605184, grid=(1, 2, 3), stream=0)
    buf1784 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1784]
    launch(kernel_784, buf1784, 605184, grid=(1, 2, 3), stream=0)
    buf1785 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1785]
    launch(kernel_785, buf1785, 605184, grid=(1, 2, 3), stream=0)
    buf1786 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1786]
    launch(kernel_786, buf1786, 605184, grid=(1, 2, 3), stream=0)
    buf1787 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1787]
    launch(kernel_787, buf1787, 605184, grid=(1, 2, 3), stream=0)
    buf1788 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1788]
    launch(kernel_788, buf1788, 605184, grid=(1, 2, 3), stream=0)
    buf1789 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1789]
    launch(kernel_789, buf1789, 605184, grid=(1, 2, 3), stream=0)
    buf1790 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1790]
    launch(kernel_790, buf1790, 605184, grid=(1, 2, 3), stream=0)
    buf1791 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1791]
    launch(kernel_791, buf1791, 605184, grid=(1, 2, 3), stream=0)
    buf1792 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1792]
    launch(kernel_792, buf1792, 605184, grid=(1, 2, 3), stream=0)
    buf1793 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1793]
    launch(kernel_793, buf1793, 605184, grid=(1, 2, 3), stream=0)
    buf1794 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1794]
    launch(kernel_794, buf1794, 605184, grid=(1, 2, 3), stream=0)
    buf1795 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1795]
    launch(kernel_795, buf1795, 605184, grid=(1, 2, 3), stream=0)
    buf1796 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1796]
    launch(kernel_796, buf1796, 605184, grid=(1, 2, 3), stream=0)
    buf1797 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1797]
    launch(kernel_797, buf1797, 605184, grid=(1, 2, 3), stream=0)
    buf1798 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1798]
    launch(kernel_798, buf1798, 605184, grid=(1, 2, 3), stream=0)
    buf1799 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1799]
    launch(kernel_799, buf1799, 605184, grid=(1, 2, 3), stream=0)
    buf1800 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1800]
    launch(kernel_800, buf1800, 605184, grid=(1, 2, 3), stream=0)
    buf1801 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1801]
    launch(kernel_801, buf1801, 605184, grid=(1, 2, 3), stream=0)
    buf1802 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1802]
    launch(kernel_802, buf1802, 605184, grid=(1, 2, 3), stream=0)
    buf1803 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1803]
    launch(kernel_803, buf1803, 605184, grid=(1, 2, 3), stream=0)
    buf1804 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1804]
    launch(kernel_804, buf1804, 605184, grid=(1, 2, 3), stream=0)
    buf1805 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1805]
    launch(kernel_805, buf1805, 605184, grid=(1, 2, 3), stream=0)
    buf1806 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1806]
    launch(kernel_806, buf1806, 605184, grid=(1, 2, 3), stream=0)
    buf1807 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1807]
    launch(kernel_807, buf1807, 605184, grid=(1, 2, 3), stream=0)
    buf1808 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1808]
    launch(kernel_808, buf1808, 605184, grid=(1, 2, 3), stream=0)
    buf1809 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1809]
    launch(kernel_809, buf1809, 605184, grid=(1, 2, 3), stream=0)
    buf1810 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1810]
    launch(kernel_810, buf1810, 605184, grid=(1, 2, 3), stream=0)
    buf1811 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1811]
    launch(kernel_811, buf1811, 605184, grid=(1, 2, 3), stream=0)
    buf1812 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1812]
    launch(kernel_812, buf1812, 605184, grid=(1, 2, 3), stream=0)
    buf1813 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1813]
    launch(kernel_813, buf1813, 605184, grid=(1, 2, 3), stream=0)
    buf1814 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1814]
    launch(kernel_814, buf1814, 605184, grid=(1, 2, 3), stream=0)
    buf1815 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1815]
    launch(kernel_815, buf1815, 605184, grid=(1, 2, 3), stream=0)
    buf1816 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1816]
    launch(kernel_816, buf1816, 605184, grid=(1, 2, 3), stream=0)
    buf1817 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1817]
    launch(kernel_817, buf1817, 605184, grid=(1, 2, 3), stream=0)
    buf1818 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1818]
    launch(kernel_818, buf1818, 605184, grid=(1, 2, 3), stream=0)
    buf1819 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1819]
    launch(kernel_819, buf1819, 605184, grid=(1, 2, 3), stream=0)
    buf1820 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1820]
    launch(kernel_820, buf1820, 605184, grid=(1, 2, 3), stream=0)
    buf1821 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1821]
    launch(kernel_821, buf1821, 605184, grid=(1, 2, 3), stream=0)
    buf1822 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1822]
    launch(kernel_822, buf1822, 605184, grid=(1, 2, 3), stream=0)
    buf1823 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1823]
    launch(kernel_823, buf1823, 605184, grid=(1, 2, 3), stream=0)
    buf1824 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1824]
    launch(kernel_824, buf1824, 605184, grid=(1, 2, 3), stream=0)
    buf1825 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1825]
    launch(kernel_825, buf1825, 605184, grid=(1, 2, 3), stream=0)
    buf1826 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1826]
    launch(kernel_826, buf1826, 605184, grid=(1, 2, 3), stream=0)
    buf1827 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1827]
    launch(kernel_827, buf1827, 605184, grid=(1, 2, 3), stream=0)
    buf1828 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1828]
    launch(kernel_828, buf1828, 605184, grid=(1, 2, 3), stream=0)
    buf1829 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1829]
    launch(kernel_829, buf1829, 605184, grid=(1, 2, 3), stream=0)
    buf1830 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1830]
    launch(kernel_830, buf1830, 605184, grid=(1, 2, 3), stream=0)
    buf1831 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1831]
    launch(kernel_831, buf1831, 605184, grid=(1, 2, 3), stream=0)
    buf1832 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1832]
    launch(kernel_832, buf1832, 605184, grid=(1, 2, 3), stream=0)
    buf1833 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1833]
    launch(kernel_833, buf1833, 605184, grid=(1, 2, 3), stream=0)
    buf1834 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1834]
    launch(kernel_834, buf1834, 605184, grid=(1, 2, 3), stream=0)
    buf1835 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1835]
    launch(kernel_835, buf1835, 605184, grid=(1, 2, 3), stream=0)
    buf1836 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1836]
    launch(kernel_836, buf1836, 605184, grid=(1, 2, 3), stream=0)
    buf1837 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1837]
    launch(kernel_837, buf1837, 605184, grid=(1, 2, 3), stream=0)
    buf1838 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1838]
    launch(kernel_838, buf1838, 605184, grid=(1, 2, 3), stream=0)
    buf1839 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1839]
    launch(kernel_839, buf1839, 605184, grid=(1, 2, 3), stream=0)
    buf1840 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1840]
    launch(kernel_840, buf1840, 605184, grid=(1, 2, 3), stream=0)
    buf1841 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1841]
    launch(kernel_841, buf1841, 605184, grid=(1, 2, 3), stream=0)
    buf1842 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1842]
    launch(kernel_842, buf1842, 605184, grid=(1, 2, 3), stream=0)
    buf1843 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1843]
    launch(kernel_843, buf1843, 605184, grid=(1, 2, 3), stream=0)
    buf1844 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1844]
    launch(kernel_844, buf1844, 605184, grid=(1, 2, 3), stream=0)
    buf1845 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1845]
    launch(kernel_845, buf1845, 605184, grid=(1, 2, 3), stream=0)
    buf1846 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1846]
    launch(kernel_846, buf1846, 605184, grid=(1, 2, 3), stream=0)
    buf1847 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1847]
    launch(kernel_847, buf1847, 605184, grid=(1, 2, 3), stream=0)
    buf1848 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1848]
    launch(kernel_848, buf1848, 605184, grid=(1, 2, 3), stream=0)
    buf1849 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1849]
    launch(kernel_849, buf1849, 605184, grid=(1, 2, 3), stream=0)
    buf1850 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1850]
    launch(kernel_850, buf1850, 605184, grid=(1, 2, 3), stream=0)
    buf1851 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1851]
    launch(kernel_851, buf1851, 605184, grid=(1, 2, 3), stream=0)
    buf1852 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1852]
    launch(kernel_852, buf1852, 605184, grid=(1, 2, 3), stream=0)
    buf1853 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1853]
    launch(kernel_853, buf1853, 605184, grid=(1, 2, 3), stream=0)
    buf1854 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1854]
    launch(kernel_854, buf1854, 605184, grid=(1, 2, 3), stream=0)
    buf1855 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1855]
    launch(kernel_855, buf1855, 605184, grid=(1, 2, 3), stream=0)
    buf1856 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1856]
    launch(kernel_856, buf1856, 605184, grid=(1, 2, 3), stream=0)
    buf1857 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1857]
    launch(kernel_857, buf1857, 605184, grid=(1, 2, 3), stream=0)
    buf1858 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1858]
    launch(kernel_858, buf1858, 605184, grid=(1, 2, 3), stream=0)
    buf1859 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1859]
    launch(kernel_859, buf1859, 605184, grid=(1, 2, 3), stream=0)
    buf1860 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1860]
    launch(kernel_860, buf1860, 605184, grid=(1, 2, 3), stream=0)
    buf1861 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1861]
    launch(kernel_861, buf1861, 605184, grid=(1, 2, 3), stream=0)
    buf1862 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1862]
    launch(kernel_862, buf1862, 605184, grid=(1, 2, 3), stream=0)
    buf1863 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1863]
    launch(kernel_863, buf1863, 605184, grid=(1, 2, 3), stream=0)
    buf1864 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1864]
    launch(kernel_864, buf1864, 605184, grid=(1, 2, 3), stream=0)
    buf1865 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1865]
    launch(kernel_865, buf1865, 605184, grid=(1, 2, 3), stream=0)
    buf1866 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1866]
    launch(kernel_866, buf1866, 605184, grid=(1, 2, 3), stream=0)
    buf1867 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1867]
    launch(kernel_867, buf1867, 605184, grid=(1, 2, 3), stream=0)
    buf1868 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1868]
    launch(kernel_868, buf1868, 605184, grid=(1, 2, 3), stream=0)
    buf1869 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1869]
    launch(kernel_869, buf1869, 605184, grid=(1, 2, 3), stream=0)
    buf1870 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1870]
    launch(kernel_870, buf1870, 605184, grid=(1, 2, 3), stream=0)
    buf1871 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1871]
    launch(kernel_871, buf1871, 605184, grid=(1, 2, 3), stream=0)
    buf1872 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1872]
    launch(kernel_872, buf1872, 605184, grid=(1, 2, 3), stream=0)
    buf1873 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1873]
    launch(kernel_873, buf1873, 605184, grid=(1, 2, 3), stream=0)
    buf1874 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1874]
    launch(kernel_874, buf1874, 605184, grid=(1, 2, 3), stream=0)
    buf1875 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1875]
    launch(kernel_875, buf1875, 605184, grid=(1, 2, 3), stream=0)
    buf1876 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1876]
    launch(kernel_876, buf1876, 605184, grid=(1, 2, 3), stream=0)
    buf1877 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1877]
    launch(kernel_877, buf1877, 605184, grid=(1, 2, 3), stream=0)
    buf1878 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1878]
    launch(kernel_878, buf1878, 605184, grid=(1, 2, 3), stream=0)
    buf1879 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1879]
    launch(kernel_879, buf1879, 605184, grid=(1, 2, 3), stream=0)
    buf1880 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1880]
    launch(kernel_880, buf1880, 605184, grid=(1, 2, 3), stream=0)
    buf1881 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1881]
    launch(kernel_881, buf1881, 605184, grid=(1, 2, 3), stream=0)
    buf1882 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1882]
    launch(kernel_882, buf1882, 605184, grid=(1, 2, 3), stream=0)
    buf1883 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1883]
    launch(kernel_883, buf1883, 605184, grid=(1, 2, 3), stream=0)
    buf1884 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1884]
    launch(kernel_884, buf1884, 605184, grid=(1, 2, 3), stream=0)
    buf1885 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1885]
    launch(kernel_885, buf1885, 605184, grid=(1, 2, 3), stream=0)
    buf1886 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1886]
    launch(kernel_886, buf1886, 605184, grid=(1, 2, 3), stream=0)
    buf1887 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1887]
    launch(kernel_887, buf1887, 605184, grid=(1, 2, 3), stream=0)
    buf1888 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1888]
    launch(kernel_888, buf1888, 605184, grid=(1, 2, 3), stream=0)
    buf1889 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1889]
    launch(kernel_889, buf1889, 605184, grid=(1, 2, 3), stream=0)
    buf1890 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1890]
    launch(kernel_890, buf1890, 605184, grid=(1, 2, 3), stream=0)
    buf1891 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1891]
    launch(kernel_891, buf1891, 605184, grid=(1, 2, 3), stream=0)
    buf1892 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1892]
    launch(kernel_892, buf1892, 605184, grid=(1, 2, 3), stream=0)
    buf1893 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1893]
    launch(kernel_893, buf1893, 605184, grid=(1, 2, 3), stream=0)
    buf1894 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1894]
    launch(kernel_894, buf1894, 605184, grid=(1, 2, 3), stream=0)
    buf1895 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1895]
    launch(kernel_895, buf1895, 605184, grid=(1, 2, 3), stream=0)
    buf1896 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1896]
    launch(kernel_896, buf1896, 605184, grid=(1, 2, 3), stream=0)
    buf1897 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1897]
    launch(kernel_897, buf1897, 605184, grid=(1, 2, 3), stream=0)
    buf1898 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1898]
    launch(kernel_898, buf1898, 605184, grid=(1, 2, 3), stream=0)
    buf1899 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1899]
    launch(kernel_899, buf1899, 605184, grid=(1, 2, 3), stream=0)
    buf1900 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1900]
    launch(kernel_900, buf1900, 605184, grid=(1, 2, 3), stream=0)
    buf1901 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1901]
    launch(kernel_901, buf1901, 605184, grid=(1, 2, 3), stream=0)
    buf1902 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1902]
    launch(kernel_902, buf1902, 605184, grid=(1, 2, 3), stream=0)
    buf1903 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1903]
    launch(kernel_903, buf1903, 605184, grid=(1, 2, 3), stream=0)
    buf1904 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1904]
    launch(kernel_904, buf1904, 605184, grid=(1, 2, 3), stream=0)
    buf1905 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1905]
    launch(kernel_905, buf1905, 605184, grid=(1, 2, 3), stream=0)
    buf1906 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1906]
    launch(kernel_906, buf1906, 605184, grid=(1, 2, 3), stream=0)
    buf1907 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1907]
    launch(kernel_907, buf1907, 605184, grid=(1, 2, 3), stream=0)
    buf1908 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1908]
    launch(kernel_908, buf1908, 605184, grid=(1, 2, 3), stream=0)
    buf1909 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1909]
    launch(kernel_909, buf1909, 605184, grid=(1, 2, 3), stream=0)
    buf1910 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1910]
    launch(kernel_910, buf1910, 605184, grid=(1, 2, 3), stream=0)
    buf1911 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1911]
    launch(kernel_911, buf1911, 605184, grid=(1, 2, 3), stream=0)
    buf1912 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1912]
    launch(kernel_912, buf1912, 605184, grid=(1, 2, 3), stream=0)
    buf1913 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1913]
    launch(kernel_913, buf1913, 605184, grid=(1, 2, 3), stream=0)
    buf1914 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1914]
    launch(kernel_914, buf1914, 605184, grid=(1, 2, 3), stream=0)
    buf1915 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1915]
    launch(kernel_915, buf1915, 605184, grid=(1, 2, 3), stream=0)
    buf1916 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1916]
    launch(kernel_916, buf1916, 605184, grid=(1, 2, 3), stream=0)
    buf1917 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1917]
    launch(kernel_917, buf1917, 605184, grid=(1, 2, 3), stream=0)
    buf1918 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1918]
    launch(kernel_918, buf1918, 605184, grid=(1, 2, 3), stream=0)
    buf1919 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1919]
    launch(kernel_919, buf1919, 605184, grid=(1, 2, 3), stream=0)
    buf1920 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1920]
    launch(kernel_920, buf1920, 605184, grid=(1, 2, 3), stream=0)
    buf1921 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1921]
    launch(kernel_921, buf1921, 605184, grid=(1, 2, 3), stream=0)
    buf1922 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1922]
    launch(kernel_922, buf1922, 605184, grid=(1, 2, 3), stream=0)
    buf1923 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1923]
    launch(kernel_923, buf1923, 605184, grid=(1, 2, 3), stream=0)
    buf1924 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1924]
    launch(kernel_924, buf1924, 605184, grid=(1, 2, 3), stream=0)
    buf1925 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1925]
    launch(kernel_925, buf1925, 605184, grid=(1, 2, 3), stream=0)
    buf1926 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1926]
    launch(kernel_926, buf1926, 605184, grid=(1, 2, 3), stream=0)
    buf1927 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1927]
    launch(kernel_927, buf1927, 605184, grid=(1, 2, 3), stream=0)
    buf1928 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1928]
    launch(kernel_928, buf1928, 605184, grid=(1, 2, 3), stream=0)
    buf1929 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1929]
    launch(kernel_929, buf1929, 605184, grid=(1, 2, 3), stream=0)
    buf1930 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1930]
    launch(kernel_930, buf1930, 605184, grid=(1, 2, 3), stream=0)
    buf1931 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1931]
    launch(kernel_931, buf1931, 605184, grid=(1, 2, 3), stream=0)
    buf1932 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1932]
    launch(kernel_932, buf1932, 605184, grid=(1, 2, 3), stream=0)
    buf1933 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1933]
    launch(kernel_933, buf1933, 605184, grid=(1, 2, 3), stream=0)
    buf1934 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1934]
    launch(kernel_934, buf1934, 605184, grid=(1, 2, 3), stream=0)
    buf1935 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1935]
    launch(kernel_935, buf1935, 605184, grid=(1, 2, 3), stream=0)
    buf1936 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1936]
    launch(kernel_936, buf1936, 605184, grid=(1, 2, 3), stream=0)
    buf1937 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1937]
    launch(kernel_937, buf1937, 605184, grid=(1, 2, 3), stream=0)
    buf1938 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1938]
    launch(kernel_938, buf1938, 605184, grid=(1, 2, 3), stream=0)
    buf1939 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1939]
    launch(kernel_939, buf1939, 605184, grid=(1, 2, 3), stream=0)
    buf1940 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1940]
    launch(kernel_940, buf1940, 605184, grid=(1, 2, 3), stream=0)
    buf1941 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1941]
    launch(kernel_941, buf1941, 605184, grid=(1, 2, 3), stream=0)
    buf1942 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1942]
    launch(kernel_942, buf1942, 605184, grid=(1, 2, 3), stream=0)
    buf1943 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1943]
    launch(kernel_943, buf1943, 605184, grid=(1, 2, 3), stream=0)
    buf1944 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1944]
    launch(kernel_944, buf1944, 605184, grid=(1, 2, 3), stream=0)
    buf1945 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1945]
    launch(kernel_945, buf1945, 605184, grid=(1, 2, 3), stream=0)
    buf1946 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1946]
    launch(kernel_946, buf1946, 605184, grid=(1, 2, 3), stream=0)
    buf1947 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1947]
    launch(kernel_947, buf1947, 605184, grid=(1, 2, 3), stream=0)
    buf1948 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1948]
    launch(kernel_948, buf1948, 605184, grid=(1, 2, 3), stream=0)
    buf1949 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1949]
    launch(kernel_949, buf1949, 605184, grid=(1, 2, 3), stream=0)
    buf1950 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1950]
    launch(kernel_950, buf1950, 605184, grid=(1, 2, 3), stream=0)
    buf1951 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1951]
    launch(kernel_951, buf1951, 605184, grid=(1, 2, 3), stream=0)
    buf1952 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1952]
    launch(kernel_952, buf1952, 605184, grid=(1, 2, 3), stream=0)
    buf1953 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1953]
    launch(kernel_953, buf1953, 605184, grid=(1, 2, 3), stream=0)
    buf1954 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1954]
    launch(kernel_954, buf1954, 605184, grid=(1, 2, 3), stream=0)
    buf1955 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1955]
    launch(kernel_955, buf1955, 605184, grid=(1, 2, 3), stream=0)
    buf1956 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1956]
    launch(kernel_956, buf1956, 605184, grid=(1, 2, 3), stream=0)
    buf1957 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1957]
    launch(kernel_957, buf1957, 605184, grid=(1, 2, 3), stream=0)
    buf1958 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1958]
    launch(kernel_958, buf1958, 605184, grid=(1, 2, 3), stream=0)
    buf1959 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1959]
    launch(kernel_959, buf1959, 605184, grid=(1, 2, 3), stream=0)
    buf1960 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1960]
    launch(kernel_960, buf1960, 605184, grid=(1, 2, 3), stream=0)
    buf1961 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1961]
    launch(kernel_961, buf1961, 605184, grid=(1, 2, 3), stream=0)
    buf1962 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1962]
    launch(kernel_962, buf1962, 605184, grid=(1, 2, 3), stream=0)
    buf1963 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1963]
    launch(kernel_963, buf1963, 605184, grid=(1, 2, 3), stream=0)
    buf1964 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1964]
    launch(kernel_964, buf1964, 605184, grid=(1, 2, 3), stream=0)
    buf1965 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1965]
    launch(kernel_965, buf1965, 605184, grid=(1, 2, 3), stream=0)
    buf1966 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1966]
    launch(kernel_966, buf1966, 605184, grid=(1, 2, 3), stream=0)
    buf1967 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1967]
    launch(kernel_967, buf1967, 605184, grid=(1, 2, 3), stream=0)
    buf1968 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1968]
    launch(kernel_968, buf1968, 605184, grid=(1, 2, 3), stream=0)
    buf1969 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1969]
    launch(kernel_969, buf1969, 605184, grid=(1, 2, 3), stream=0)
    buf1970 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1970]
    launch(kernel_970, buf1970, 605184, grid=(1, 2, 3), stream=0)
    buf1971 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1971]
    launch(kernel_971, buf1971, 605184, grid=(1, 2, 3), stream=0)
    buf1972 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1972]
    launch(kernel_972, buf1972, 605184, grid=(1, 2, 3), stream=0)
    buf1973 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1973]
    launch(kernel_973, buf1973, 605184, grid=(1, 2, 3), stream=0)
    buf1974 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1974]
    launch(kernel_974, buf1974, 605184, grid=(1, 2, 3), stream=0)
    buf1975 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1975]
    launch(kernel_975, buf1975, 605184, grid=(1, 2, 3), stream=0)
    buf1976 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1976]
    launch(kernel_976, buf1976, 605184, grid=(1, 2, 3), stream=0)
    buf1977 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1977]
    launch(kernel_977, buf1977, 605184, grid=(1, 2, 3), stream=0)
    buf1978 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1978]
    launch(kernel_978, buf1978, 605184, grid=(1, 2, 3), stream=0)
    buf1979 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1979]
    launch(kernel_979, buf1979, 605184, grid=(1, 2, 3), stream=0)
    buf1980 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1980]
    launch(kernel_980, buf1980, 605184, grid=(1, 2, 3), stream=0)
    buf1981 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1981]
    launch(kernel_981, buf1981, 605184, grid=(1, 2, 3), stream=0)
    buf1982 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1982]
    launch(kernel_982, buf1982, 605184, grid=(1, 2, 3), stream=0)
    buf1983 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1983]
    launch(kernel_983, buf1983, 605184, grid=(1, 2, 3), stream=0)
    buf1984 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1984]
    launch(kernel_984, buf1984, 605184, grid=(1, 2, 3), stream=0)
    buf1985 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1985]
    launch(kernel_985, buf1985, 605184, grid=(1, 2, 3), stream=0)
    buf1986 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1986]
    launch(kernel_986, buf1986, 605184, grid=(1, 2, 3), stream=0)
    buf1987 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1987]
    launch(kernel_987, buf1987, 605184, grid=(1, 2, 3), stream=0)
    buf1988 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1988]
    launch(kernel_988, buf1988, 605184, grid=(1, 2, 3), stream=0)
    buf1989 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1989]
    launch(kernel_989, buf1989, 605184, grid=(1, 2, 3), stream=0)
    buf1990 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1990]
    launch(kernel_990, buf1990, 605184, grid=(1, 2, 3), stream=0)
    buf1991 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1991]
    launch(kernel_991, buf1991, 605184, grid=(1, 2, 3), stream=0)
    buf1992 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1992]
    launch(kernel_992, buf1992, 605184, grid=(1, 2, 3), stream=0)
    buf1993 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1993]
    launch(kernel_993, buf1993, 605184, grid=(1, 2, 3), stream=0)
    buf1994 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1994]
    launch(kernel_994, buf1994, 605184, grid=(1, 2, 3), stream=0)
    buf1995 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1995]
    launch(kernel_995, buf1995, 605184, grid=(1, 2, 3), stream=0)
    buf1996 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1996]
    launch(kernel_996, buf1996, 605184, grid=(1, 2, 3), stream=0)
    buf1997 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1997]
    launch(kernel_997, buf1997, 605184, grid=(1, 2, 3), stream=0)
    buf1998 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1998]
    launch(kernel_998, buf1998, 605184, grid=(1, 2, 3), stream=0)
    buf1999 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_1999]
    launch(kernel_999, buf1999, 605184, grid=(1, 2, 3), stream=0)
    buf2000 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2000]
    launch(kernel_0, buf2000, 605184, grid=(1, 2, 3), stream=0)
    buf2001 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2001]
    launch(kernel_1, buf2001, 605184, grid=(1, 2, 3), stream=0)
    buf2002 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2002]
    launch(kernel_2, buf2002, 605184, grid=(1, 2, 3), stream=0)
    buf2003 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2003]
    launch(kernel_3, buf2003, 605184, grid=(1, 2, 3), stream=0)
    buf2004 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2004]
    launch(kernel_4, buf2004, 605184, grid=(1, 2, 3), stream=0)
    buf2005 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2005]
    launch(kernel_5, buf2005, 605184, grid=(1, 2, 3), stream=0)
    buf2006 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2006]
    launch(kernel_6, buf2006, 605184, grid=(1, 2, 3), stream=0)
    buf2007 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2007]
    launch(kernel_7, buf2007, 605184, grid=(1, 2, 3), stream=0)
    buf2008 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2008]
    launch(kernel_8, buf2008, 605184, grid=(1, 2, 3), stream=0)
    buf2009 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2009]
    launch(kernel_9, buf2009, 605184, grid=(1, 2, 3), stream=0)
    buf2010 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2010]
    launch(kernel_10, buf2010, 605184, grid=(1, 2, 3), stream=0)
    buf2011 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2011]
    launch(kernel_11, buf2011, 605184, grid=(1, 2, 3), stream=0)
    buf2012 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2012]
    launch(kernel_12, buf2012, 605184, grid=(1, 2, 3), stream=0)
    buf2013 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2013]
    launch(kernel_13, buf2013, 605184, grid=(1, 2, 3), stream=0)
    buf2014 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2014]
    launch(kernel_14, buf2014, 605184, grid=(1, 2, 3), stream=0)
    buf2015 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2015]
    launch(kernel_15, buf2015, 605184, grid=(1, 2, 3), stream=0)
    buf2016 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2016]
    launch(kernel_16, buf2016, 605184, grid=(1, 2, 3), stream=0)
    buf2017 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2017]
    launch(kernel_17, buf2017, 605184, grid=(1, 2, 3), stream=0)
    buf2018 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2018]
    launch(kernel_18, buf2018, 605184, grid=(1, 2, 3), stream=0)
    buf2019 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2019]
    launch(kernel_19, buf2019, 605184, grid=(1, 2, 3), stream=0)
    buf2020 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2020]
    launch(kernel_20, buf2020, 605184, grid=(1, 2, 3), stream=0)
    buf2021 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2021]
    launch(kernel_21, buf2021, 605184, grid=(1, 2, 3), stream=0)
    buf2022 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2022]
    launch(kernel_22, buf2022, 605184, grid=(1, 2, 3), stream=0)
    buf2023 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2023]
    launch(kernel_23, buf2023, 605184, grid=(1, 2, 3), stream=0)
    buf2024 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2024]
    launch(kernel_24, buf2024, 605184, grid=(1, 2, 3), stream=0)
    buf2025 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2025]
    launch(kernel_25, buf2025, 605184, grid=(1, 2, 3), stream=0)
    buf2026 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2026]
    launch(kernel_26, buf2026, 605184, grid=(1, 2, 3), stream=0)
    buf2027 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2027]
    launch(kernel_27, buf2027, 605184, grid=(1, 2, 3), stream=0)
    buf2028 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2028]
    launch(kernel_28, buf2028, 605184, grid=(1, 2, 3), stream=0)
    buf2029 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2029]
    launch(kernel_29, buf2029, 605184, grid=(1, 2, 3), stream=0)
    buf2030 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2030]
    launch(kernel_30, buf2030, 605184, grid=(1, 2, 3), stream=0)
    buf2031 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2031]
    launch(kernel_31, buf2031, 605184, grid=(1, 2, 3), stream=0)
    buf2032 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2032]
    launch(kernel_32, buf2032, 605184, grid=(1, 2, 3), stream=0)
    buf2033 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2033]
    launch(kernel_33, buf2033, 605184, grid=(1, 2, 3), stream=0)
    buf2034 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2034]
    launch(kernel_34, buf2034, 605184, grid=(1, 2, 3), stream=0)
    buf2035 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2035]
    launch(kernel_35, buf2035, 605184, grid=(1, 2, 3), stream=0)
    buf2036 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2036]
    launch(kernel_36, buf2036, 605184, grid=(1, 2, 3), stream=0)
    buf2037 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2037]
    launch(kernel_37, buf2037, 605184, grid=(1, 2, 3), stream=0)
    buf2038 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2038]
    launch(kernel_38, buf2038, 605184, grid=(1, 2, 3), stream=0)
    buf2039 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2039]
    launch(kernel_39, buf2039, 605184, grid=(1, 2, 3), stream=0)
    buf2040 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2040]
    launch(kernel_40, buf2040, 605184, grid=(1, 2, 3), stream=0)
    buf2041 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2041]
    launch(kernel_41, buf2041, 605184, grid=(1, 2, 3), stream=0)
    buf2042 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2042]
    launch(kernel_42, buf2042, 605184, grid=(1, 2, 3), stream=0)
    buf2043 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2043]
    launch(kernel_43, buf2043, 605184, grid=(1, 2, 3), stream=0)
    buf2044 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2044]
    launch(kernel_44, buf2044, 605184, grid=(1, 2, 3), stream=0)
    buf2045 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2045]
    launch(kernel_45, buf2045, 605184, grid=(1, 2, 3), stream=0)
    buf2046 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2046]
    launch(kernel_46, buf2046, 605184, grid=(1, 2, 3), stream=0)
    buf2047 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2047]
    launch(kernel_47, buf2047, 605184, grid=(1, 2, 3), stream=0)
    buf2048 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2048]
    launch(kernel_48, buf2048, 605184, grid=(1, 2, 3), stream=0)
    buf2049 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2049]
    launch(kernel_49, buf2049, 605184, grid=(1, 2, 3), stream=0)
    buf2050 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2050]
    launch(kernel_50, buf2050, 605184, grid=(1, 2, 3), stream=0)
    buf2051 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2051]
    launch(kernel_51, buf2051, 605184, grid=(1, 2, 3), stream=0)
    buf2052 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2052]
    launch(kernel_52, buf2052, 605184, grid=(1, 2, 3), stream=0)
    buf2053 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2053]
    launch(kernel_53, buf2053, 605184, grid=(1, 2, 3), stream=0)
    buf2054 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2054]
    launch(kernel_54, buf2054, 605184, grid=(1, 2, 3), stream=0)
    buf2055 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2055]
    launch(kernel_55, buf2055, 605184, grid=(1, 2, 3), stream=0)
    buf2056 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2056]
    launch(kernel_56, buf2056, 605184, grid=(1, 2, 3), stream=0)
    buf2057 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2057]
    launch(kernel_57, buf2057, 605184, grid=(1, 2, 3), stream=0)
    buf2058 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2058]
    launch(kernel_58, buf2058, 605184, grid=(1, 2, 3), stream=0)
    buf2059 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2059]
    launch(kernel_59, buf2059, 605184, grid=(1, 2, 3), stream=0)
    buf2060 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2060]
    launch(kernel_60, buf2060, 605184, grid=(1, 2, 3), stream=0)
    buf2061 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2061]
    launch(kernel_61, buf2061, 605184, grid=(1, 2, 3), stream=0)
    buf2062 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2062]
    launch(kernel_62, buf2062, 605184, grid=(1, 2, 3), stream=0)
    buf2063 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2063]
    launch(kernel_63, buf2063, 605184, grid=(1, 2, 3), stream=0)
    buf2064 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2064]
    launch(kernel_64, buf2064, 605184, grid=(1, 2, 3), stream=0)
    buf2065 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2065]
    launch(kernel_65, buf2065, 605184, grid=(1, 2, 3), stream=0)
    buf2066 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2066]
    launch(kernel_66, buf2066, 605184, grid=(1, 2, 3), stream=0)
    buf2067 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2067]
    launch(kernel_67, buf2067, 605184, grid=(1, 2, 3), stream=0)
    buf2068 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2068]
    launch(kernel_68, buf2068, 605184, grid=(1, 2, 3), stream=0)
    buf2069 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2069]
    launch(kernel_69, buf2069, 605184, grid=(1, 2, 3), stream=0)
    buf2070 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2070]
    launch(kernel_70, buf2070, 605184, grid=(1, 2, 3), stream=0)
    buf2071 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2071]
    launch(kernel_71, buf2071, 605184, grid=(1, 2, 3), stream=0)
    buf2072 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2072]
    launch(kernel_72, buf2072, 605184, grid=(1, 2, 3), stream=0)
    buf2073 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2073]
    launch(kernel_73, buf2073, 605184, grid=(1, 2, 3), stream=0)
    buf2074 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2074]
    launch(kernel_74, buf2074, 605184, grid=(1, 2, 3), stream=0)
    buf2075 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2075]
    launch(kernel_75, buf2075, 605184, grid=(1, 2, 3), stream=0)
    buf2076 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2076]
    launch(kernel_76, buf2076, 605184, grid=(1, 2, 3), stream=0)
    buf2077 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2077]
    launch(kernel_77, buf2077, 605184, grid=(1, 2, 3), stream=0)
    buf2078 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2078]
    launch(kernel_78, buf2078, 605184, grid=(1, 2, 3), stream=0)
    buf2079 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2079]
    launch(kernel_79, buf2079, 605184, grid=(1, 2, 3), stream=0)
    buf2080 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2080]
    launch(kernel_80, buf2080, 605184, grid=(1, 2, 3), stream=0)
    buf2081 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2081]
    launch(kernel_81, buf2081, 605184, grid=(1, 2, 3), stream=0)
    buf2082 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2082]
    launch(kernel_82, buf2082, 605184, grid=(1, 2, 3), stream=0)
    buf2083 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2083]
    launch(kernel_83, buf2083, 605184, grid=(1, 2, 3), stream=0)
    buf2084 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2084]
    launch(kernel_84, buf2084, 605184, grid=(1, 2, 3), stream=0)
    buf2085 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2085]
    launch(kernel_85, buf2085, 605184, grid=(1, 2, 3), stream=0)
    buf2086 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2086]
    launch(kernel_86, buf2086, 605184, grid=(1, 2, 3), stream=0)
    buf2087 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2087]
    launch(kernel_87, buf2087, 605184, grid=(1, 2, 3), stream=0)
    buf2088 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2088]
    launch(kernel_88, buf2088, 605184, grid=(1, 2, 3), stream=0)
    buf2089 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2089]
    launch(kernel_89, buf2089, 605184, grid=(1, 2, 3), stream=0)
    buf2090 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2090]
    launch(kernel_90, buf2090, 605184, grid=(1, 2, 3), stream=0)
    buf2091 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2091]
    launch(kernel_91, buf2091, 605184, grid=(1, 2, 3), stream=0)
    buf2092 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2092]
    launch(kernel_92, buf2092, 605184, grid=(1, 2, 3), stream=0)
    buf2093 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2093]
    launch(kernel_93, buf2093, 605184, grid=(1, 2, 3), stream=0)
    buf2094 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2094]
    launch(kernel_94, buf2094, 605184, grid=(1, 2, 3), stream=0)
    buf2095 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2095]
    launch(kernel_95, buf2095, 605184, grid=(1, 2, 3), stream=0)
    buf2096 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2096]
    launch(kernel_96, buf2096, 605184, grid=(1, 2, 3), stream=0)
    buf2097 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2097]
    launch(kernel_97, buf2097, 605184, grid=(1, 2, 3), stream=0)
    buf2098 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2098]
    launch(kernel_98, buf2098, 605184, grid=(1, 2, 3), stream=0)
    buf2099 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2099]
    launch(kernel_99, buf2099, 605184, grid=(1, 2, 3), stream=0)
    buf2100 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2100]
    launch(kernel_100, buf2100, 605184, grid=(1, 2, 3), stream=0)
    buf2101 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2101]
    launch(kernel_101, buf2101, 605184, grid=(1, 2, 3), stream=0)
    buf2102 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2102]
    launch(kernel_102, buf2102, 605184, grid=(1, 2, 3), stream=0)
    buf2103 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2103]
    launch(kernel_103, buf2103, 605184, grid=(1, 2, 3), stream=0)
    buf2104 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2104]
    launch(kernel_104, buf2104, 605184, grid=(1, 2, 3), stream=0)
    buf2105 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2105]
    launch(kernel_105, buf2105, 605184, grid=(1, 2, 3), stream=0)
    buf2106 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2106]
    launch(kernel_106, buf2106, 605184, grid=(1, 2, 3), stream=0)
    buf2107 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2107]
    launch(kernel_107, buf2107, 605184, grid=(1, 2, 3), stream=0)
    buf2108 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2108]
    launch(kernel_108, buf2108, 605184, grid=(1, 2, 3), stream=0)
    buf2109 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2109]
    launch(kernel_109, buf2109, 605184, grid=(1, 2, 3), stream=0)
    buf2110 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2110]
    launch(kernel_110, buf2110, 605184, grid=(1, 2, 3), stream=0)
    buf2111 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2111]
    launch(kernel_111, buf2111, 605184, grid=(1, 2, 3), stream=0)
    buf2112 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2112]
    launch(kernel_112, buf2112, 605184, grid=(1, 2, 3), stream=0)
    buf2113 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2113]
    launch(kernel_113, buf2113, 605184, grid=(1, 2, 3), stream=0)
    buf2114 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2114]
    launch(kernel_114, buf2114, 605184, grid=(1, 2, 3), stream=0)
    buf2115 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2115]
    launch(kernel_115, buf2115, 605184, grid=(1, 2, 3), stream=0)
    buf2116 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2116]
    launch(kernel_116, buf2116, 605184, grid=(1, 2, 3), stream=0)
    buf2117 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2117]
    launch(kernel_117, buf2117, 605184, grid=(1, 2, 3), stream=0)
    buf2118 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2118]
    launch(kernel_118, buf2118, 605184, grid=(1, 2, 3), stream=0)
    buf2119 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2119]
    launch(kernel_119, buf2119, 605184, grid=(1, 2, 3), stream=0)
    buf2120 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2120]
    launch(kernel_120, buf2120, 605184, grid=(1, 2, 3), stream=0)
    buf2121 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2121]
    launch(kernel_121, buf2121, 605184, grid=(1, 2, 3), stream=0)
    buf2122 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2122]
    launch(kernel_122, buf2122, 605184, grid=(1, 2, 3), stream=0)
    buf2123 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2123]
    launch(kernel_123, buf2123, 605184, grid=(1, 2, 3), stream=0)
    buf2124 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2124]
    launch(kernel_124, buf2124, 605184, grid=(1, 2, 3), stream=0)
    buf2125 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2125]
    launch(kernel_125, buf2125, 605184, grid=(1, 2, 3), stream=0)
    buf2126 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2126]
    launch(kernel_126, buf2126, 605184, grid=(1, 2, 3), stream=0)
    buf2127 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2127]
    launch(kernel_127, buf2127, 605184, grid=(1, 2, 3), stream=0)
    buf2128 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2128]
    launch(kernel_128, buf2128, 605184, grid=(1, 2, 3), stream=0)
    buf2129 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2129]
    launch(kernel_129, buf2129, 605184, grid=(1, 2, 3), stream=0)
    buf2130 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2130]
    launch(kernel_130, buf2130, 605184, grid=(1, 2, 3), stream=0)
    buf2131 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2131]
    launch(kernel_131, buf2131, 605184, grid=(1, 2, 3), stream=0)
    buf2132 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2132]
    launch(kernel_132, buf2132, 605184, grid=(1, 2, 3), stream=0)
    buf2133 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2133]
    launch(kernel_133, buf2133, 605184, grid=(1, 2, 3), stream=0)
    buf2134 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2134]
    launch(kernel_134, buf2134, 605184, grid=(1, 2, 3), stream=0)
    buf2135 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2135]
    launch(kernel_135, buf2135, 605184, grid=(1, 2, 3), stream=0)
    buf2136 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2136]
    launch(kernel_136, buf2136, 605184, grid=(1, 2, 3), stream=0)
    buf2137 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2137]
    launch(kernel_137, buf2137, 605184, grid=(1, 2, 3), stream=0)
    buf2138 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2138]
    launch(kernel_138, buf2138, 605184, grid=(1, 2, 3), stream=0)
    buf2139 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2139]
    launch(kernel_139, buf2139, 605184, grid=(1, 2, 3), stream=0)
    buf2140 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2140]
    launch(kernel_140, buf2140, 605184, grid=(1, 2, 3), stream=0)
    buf2141 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2141]
    launch(kernel_141, buf2141, 605184, grid=(1, 2, 3), stream=0)
    buf2142 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2142]
    launch(kernel_142, buf2142, 605184, grid=(1, 2, 3), stream=0)
    buf2143 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2143]
    launch(kernel_143, buf2143, 605184, grid=(1, 2, 3), stream=0)
    buf2144 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2144]
    launch(kernel_144, buf2144, 605184, grid=(1, 2, 3), stream=0)
    buf2145 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2145]
    launch(kernel_145, buf2145, 605184, grid=(1, 2, 3), stream=0)
    buf2146 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2146]
    launch(kernel_146, buf2146, 605184, grid=(1, 2, 3), stream=0)
    buf2147 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2147]
    launch(kernel_147, buf2147, 605184, grid=(1, 2, 3), stream=0)
    buf2148 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2148]
    launch(kernel_148, buf2148, 605184, grid=(1, 2, 3), stream=0)
    buf2149 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2149]
    launch(kernel_149, buf2149, 605184, grid=(1, 2, 3), stream=0)
    buf2150 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2150]
    launch(kernel_150, buf2150, 605184, grid=(1, 2, 3), stream=0)
    buf2151 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2151]
    launch(kernel_151, buf2151, 605184, grid=(1, 2, 3), stream=0)
    buf2152 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2152]
    launch(kernel_152, buf2152, 605184, grid=(1, 2, 3), stream=0)
    buf2153 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2153]
    launch(kernel_153, buf2153, 605184, grid=(1, 2, 3), stream=0)
    buf2154 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2154]
    launch(kernel_154, buf2154, 605184, grid=(1, 2, 3), stream=0)
    buf2155 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2155]
    launch(kernel_155, buf2155, 605184, grid=(1, 2, 3), stream=0)
    buf2156 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2156]
    launch(kernel_156, buf2156, 605184, grid=(1, 2, 3), stream=0)
    buf2157 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2157]
    launch(kernel_157, buf2157, 605184, grid=(1, 2, 3), stream=0)
    buf2158 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2158]
    launch(kernel_158, buf2158, 605184, grid=(1, 2, 3), stream=0)
    buf2159 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2159]
    launch(kernel_159, buf2159, 605184, grid=(1, 2, 3), stream=0)
    buf2160 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2160]
    launch(kernel_160, buf2160, 605184, grid=(1, 2, 3), stream=0)
    buf2161 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2161]
    launch(kernel_161, buf2161, 605184, grid=(1, 2, 3), stream=0)
    buf2162 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2162]
    launch(kernel_162, buf2162, 605184, grid=(1, 2, 3), stream=0)
    buf2163 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2163]
    launch(kernel_163, buf2163, 605184, grid=(1, 2, 3), stream=0)
    buf2164 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2164]
    launch(kernel_164, buf2164, 605184, grid=(1, 2, 3), stream=0)
    buf2165 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2165]
    launch(kernel_165, buf2165, 605184, grid=(1, 2, 3), stream=0)
    buf2166 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2166]
    launch(kernel_166, buf2166, 605184, grid=(1, 2, 3), stream=0)
    buf2167 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2167]
    launch(kernel_167, buf2167, 605184, grid=(1, 2, 3), stream=0)
    buf2168 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2168]
    launch(kernel_168, buf2168, 605184, grid=(1, 2, 3), stream=0)
    buf2169 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2169]
    launch(kernel_169, buf2169, 605184, grid=(1, 2, 3), stream=0)
    buf2170 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2170]
    launch(kernel_170, buf2170, 605184, grid=(1, 2, 3), stream=0)
    buf2171 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2171]
    launch(kernel_171, buf2171, 605184, grid=(1, 2, 3), stream=0)
    buf2172 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2172]
    launch(kernel_172, buf2172, 605184, grid=(1, 2, 3), stream=0)
    buf2173 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2173]
    launch(kernel_173, buf2173, 605184, grid=(1, 2, 3), stream=0)
    buf2174 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2174]
    launch(kernel_174, buf2174, 605184, grid=(1, 2, 3), stream=0)
    buf2175 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2175]
    launch(kernel_175, buf2175, 605184, grid=(1, 2, 3), stream=0)
    buf2176 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2176]
    launch(kernel_176, buf2176, 605184, grid=(1, 2, 3), stream=0)
    buf2177 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2177]
    launch(kernel_177, buf2177, 605184, grid=(1, 2, 3), stream=0)
    buf2178 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2178]
    launch(kernel_178, buf2178, 605184, grid=(1, 2, 3), stream=0)
    buf2179 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2179]
    launch(kernel_179, buf2179, 605184, grid=(1, 2, 3), stream=0)
    buf2180 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2180]
    launch(kernel_180, buf2180, 605184, grid=(1, 2, 3), stream=0)
    buf2181 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2181]
    launch(kernel_181, buf2181, 605184, grid=(1, 2, 3), stream=0)
    buf2182 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2182]
    launch(kernel_182, buf2182, 605184, grid=(1, 2, 3), stream=0)
    buf2183 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2183]
    launch(kernel_183, buf2183, 605184, grid=(1, 2, 3), stream=0)
    buf2184 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2184]
    launch(kernel_184, buf2184, 605184, grid=(1, 2, 3), stream=0)
    buf2185 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2185]
    launch(kernel_185, buf2185, 605184, grid=(1, 2, 3), stream=0)
    buf2186 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2186]
    launch(kernel_186, buf2186, 605184, grid=(1, 2, 3), stream=0)
    buf2187 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2187]
    launch(kernel_187, buf2187, 605184, grid=(1, 2, 3), stream=0)
    buf2188 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2188]
    launch(kernel_188, buf2188, 605184, grid=(1, 2, 3), stream=0)
    buf2189 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2189]
    launch(kernel_189, buf2189, 605184, grid=(1, 2, 3), stream=0)
    buf2190 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2190]
    launch(kernel_190, buf2190, 605184, grid=(1, 2, 3), stream=0)
    buf2191 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2191]
    launch(kernel_191, buf2191, 605184, grid=(1, 2, 3), stream=0)
    buf2192 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2192]
    launch(kernel_192, buf2192, 605184, grid=(1, 2, 3), stream=0)
    buf2193 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2193]
    launch(kernel_193, buf2193, 605184, grid=(1, 2, 3), stream=0)
    buf2194 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2194]
    launch(kernel_194, buf2194, 605184, grid=(1, 2, 3), stream=0)
    buf2195 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2195]
    launch(kernel_195, buf2195, 605184, grid=(1, 2, 3), stream=0)
    buf2196 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2196]
    launch(kernel_196, buf2196, 605184, grid=(1, 2, 3), stream=0)
    buf2197 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2197]
    launch(kernel_197, buf2197, 605184, grid=(1, 2, 3), stream=0)
    buf2198 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2198]
    launch(kernel_198, buf2198, 605184, grid=(1, 2, 3), stream=0)
    buf2199 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2199]
    launch(kernel_199, buf2199, 605184, grid=(1, 2, 3), stream=0)
    buf2200 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2200]
    launch(kernel_200, buf2200, 605184, grid=(1, 2, 3), stream=0)
    buf2201 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2201]
    launch(kernel_201, buf2201, 605184, grid=(1, 2, 3), stream=0)
    buf2202 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2202]
    launch(kernel_202, buf2202, 605184, grid=(1, 2, 3), stream=0)
    buf2203 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2203]
    launch(kernel_203, buf2203, 605184, grid=(1, 2, 3), stream=0)
    buf2204 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2204]
    launch(kernel_204, buf2204, 605184, grid=(1, 2, 3), stream=0)
    buf2205 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2205]
    launch(kernel_205, buf2205, 605184, grid=(1, 2, 3), stream=0)
    buf2206 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2206]
    launch(kernel_206, buf2206, 605184, grid=(1, 2, 3), stream=0)
    buf2207 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2207]
    launch(kernel_207, buf2207, 605184, grid=(1, 2, 3), stream=0)
    buf2208 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2208]
    launch(kernel_208, buf2208, 605184, grid=(1, 2, 3), stream=0)
    buf2209 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2209]
    launch(kernel_209, buf2209, 605184, grid=(1, 2, 3), stream=0)
    buf2210 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2210]
    launch(kernel_210, buf2210, 605184, grid=(1, 2, 3), stream=0)
    buf2211 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2211]
    launch(kernel_211, buf2211, 605184, grid=(1, 2, 3), stream=0)
    buf2212 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2212]
    launch(kernel_212, buf2212, 605184, grid=(1, 2, 3), stream=0)
    buf2213 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2213]
    launch(kernel_213, buf2213, 605184, grid=(1, 2, 3), stream=0)
    buf2214 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2214]
    launch(kernel_214, buf2214, 605184, grid=(1, 2, 3), stream=0)
    buf2215 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2215]
    launch(kernel_215, buf2215, 605184, grid=(1, 2, 3), stream=0)
    buf2216 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2216]
    launch(kernel_216, buf2216, 605184, grid=(1, 2, 3), stream=0)
    buf2217 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2217]
    launch(kernel_217, buf2217, 605184, grid=(1, 2, 3), stream=0)
    buf2218 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2218]
    launch(kernel_218, buf2218, 605184, grid=(1, 2, 3), stream=0)
    buf2219 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2219]
    launch(kernel_219, buf2219, 605184, grid=(1, 2, 3), stream=0)
    buf2220 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2220]
    launch(kernel_220, buf2220, 605184, grid=(1, 2, 3), stream=0)
    buf2221 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2221]
    launch(kernel_221, buf2221, 605184, grid=(1, 2, 3), stream=0)
    buf2222 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2222]
    launch(kernel_222, buf2222, 605184, grid=(1, 2, 3), stream=0)
    buf2223 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2223]
    launch(kernel_223, buf2223, 605184, grid=(1, 2, 3), stream=0)
    buf2224 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2224]
    launch(kernel_224, buf2224, 605184, grid=(1, 2, 3), stream=0)
    buf2225 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2225]
    launch(kernel_225, buf2225, 605184, grid=(1, 2, 3), stream=0)
    buf2226 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2226]
    launch(kernel_226, buf2226, 605184, grid=(1, 2, 3), stream=0)
    buf2227 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2227]
    launch(kernel_227, buf2227, 605184, grid=(1, 2, 3), stream=0)
    buf2228 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2228]
    launch(kernel_228, buf2228, 605184, grid=(1, 2, 3), stream=0)
    buf2229 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2229]
    launch(kernel_229, buf2229, 605184, grid=(1, 2, 3), stream=0)
    buf2230 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2230]
    launch(kernel_230, buf2230, 605184, grid=(1, 2, 3), stream=0)
    buf2231 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2231]
    launch(kernel_231, buf2231, 605184, grid=(1, 2, 3), stream=0)
    buf2232 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2232]
    launch(kernel_232, buf2232, 605184, grid=(1, 2, 3), stream=0)
    buf2233 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2233]
    launch(kernel_233, buf2233, 605184, grid=(1, 2, 3), stream=0)
    buf2234 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2234]
    launch(kernel_234, buf2234, 605184, grid=(1, 2, 3), stream=0)
    buf2235 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2235]
    launch(kernel_235, buf2235, 605184, grid=(1, 2, 3), stream=0)
    buf2236 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2236]
    launch(kernel_236, buf2236, 605184, grid=(1, 2, 3), stream=0)
    buf2237 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2237]
    launch(kernel_237, buf2237, 605184, grid=(1, 2, 3), stream=0)
    buf2238 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2238]
    launch(kernel_238, buf2238, 605184, grid=(1, 2, 3), stream=0)
    buf2239 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2239]
    launch(kernel_239, buf2239, 605184, grid=(1, 2, 3), stream=0)
    buf2240 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2240]
    launch(kernel_240, buf2240, 605184, grid=(1, 2, 3), stream=0)
    buf2241 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2241]
    launch(kernel_241, buf2241, 605184, grid=(1, 2, 3), stream=0)
    buf2242 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2242]
    launch(kernel_242, buf2242, 605184, grid=(1, 2, 3), stream=0)
    buf2243 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2243]
    launch(kernel_243, buf2243, 605184, grid=(1, 2, 3), stream=0)
    buf2244 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2244]
    launch(kernel_244, buf2244, 605184, grid=(1, 2, 3), stream=0)
    buf2245 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2245]
    launch(kernel_245, buf2245, 605184, grid=(1, 2, 3), stream=0)
    buf2246 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2246]
    launch(kernel_246, buf2246, 605184, grid=(1, 2, 3), stream=0)
    buf2247 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2247]
    launch(kernel_247, buf2247, 605184, grid=(1, 2, 3), stream=0)
    buf2248 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2248]
    launch(kernel_248, buf2248, 605184, grid=(1, 2, 3), stream=0)
    buf2249 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2249]
    launch(kernel_249, buf2249, 605184, grid=(1, 2, 3), stream=0)
    buf2250 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2250]
    launch(kernel_250, buf2250, 605184, grid=(1, 2, 3), stream=0)
    buf2251 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2251]
    launch(kernel_251, buf2251, 605184, grid=(1, 2, 3), stream=0)
    buf2252 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2252]
    launch(kernel_252, buf2252, 605184, grid=(1, 2, 3), stream=0)
    buf2253 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2253]
    launch(kernel_253, buf2253, 605184, grid=(1, 2, 3), stream=0)
    buf2254 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2254]
    launch(kernel_254, buf2254, 605184, grid=(1, 2, 3), stream=0)
    buf2255 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2255]
    launch(kernel_255, buf2255, 605184, grid=(1, 2, 3), stream=0)
    buf2256 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2256]
    launch(kernel_256, buf2256, 605184, grid=(1, 2, 3), stream=0)
    buf2257 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2257]
    launch(kernel_257, buf2257, 605184, grid=(1, 2, 3), stream=0)
    buf2258 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2258]
    launch(kernel_258, buf2258, 605184, grid=(1, 2, 3), stream=0)
    buf2259 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2259]
    launch(kernel_259, buf2259, 605184, grid=(1, 2, 3), stream=0)
    buf2260 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2260]
    launch(kernel_260, buf2260, 605184, grid=(1, 2, 3), stream=0)
    buf2261 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2261]
    launch(kernel_261, buf2261, 605184, grid=(1, 2, 3), stream=0)
    buf2262 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2262]
    launch(kernel_262, buf2262, 605184, grid=(1, 2, 3), stream=0)
    buf2263 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2263]
    launch(kernel_263, buf2263, 605184, grid=(1, 2, 3), stream=0)
    buf2264 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2264]
    launch(kernel_264, buf2264, 605184, grid=(1, 2, 3), stream=0)
    buf2265 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2265]
    launch(kernel_265, buf2265, 605184, grid=(1, 2, 3), stream=0)
    buf2266 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2266]
    launch(kernel_266, buf2266, 605184, grid=(1, 2, 3), stream=0)
    buf2267 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2267]
    launch(kernel_267, buf2267, 605184, grid=(1, 2, 3), stream=0)
    buf2268 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2268]
    launch(kernel_268, buf2268, 605184, grid=(1, 2, 3), stream=0)
    buf2269 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2269]
    launch(kernel_269, buf2269, 605184, grid=(1, 2, 3), stream=0)
    buf2270 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2270]
    launch(kernel_270, buf2270, 605184, grid=(1, 2, 3), stream=0)
    buf2271 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2271]
    launch(kernel_271, buf2271, 605184, grid=(1, 2, 3), stream=0)
    buf2272 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2272]
    launch(kernel_272, buf2272, 605184, grid=(1, 2, 3), stream=0)
    buf2273 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2273]
    launch(kernel_273, buf2273, 605184, grid=(1, 2, 3), stream=0)
    buf2274 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2274]
    launch(kernel_274, buf2274, 605184, grid=(1, 2, 3), stream=0)
    buf2275 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2275]
    launch(kernel_275, buf2275, 605184, grid=(1, 2, 3), stream=0)
    buf2276 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2276]
    launch(kernel_276, buf2276, 605184, grid=(1, 2, 3), stream=0)
    buf2277 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2277]
    launch(kernel_277, buf2277, 605184, grid=(1, 2, 3), stream=0)
    buf2278 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2278]
    launch(kernel_278, buf2278, 605184, grid=(1, 2, 3), stream=0)
    buf2279 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2279]
    launch(kernel_279, buf2279, 605184, grid=(1, 2, 3), stream=0)
    buf2280 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2280]
    launch(kernel_280, buf2280, 605184, grid=(1, 2, 3), stream=0)
    buf2281 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2281]
    launch(kernel_281, buf2281, 605184, grid=(1, 2, 3), stream=0)
    buf2282 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2282]
    launch(kernel_282, buf2282, 605184, grid=(1, 2, 3), stream=0)
    buf2283 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2283]
    launch(kernel_283, buf2283, 605184, grid=(1, 2, 3), stream=0)
    buf2284 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2284]
    launch(kernel_284, buf2284, 605184, grid=(1, 2, 3), stream=0)
    buf2285 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2285]
    launch(kernel_285, buf2285, 605184, grid=(1, 2, 3), stream=0)
    buf2286 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2286]
    launch(kernel_286, buf2286, 605184, grid=(1, 2, 3), stream=0)
    buf2287 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2287]
    launch(kernel_287, buf2287, 605184, grid=(1, 2, 3), stream=0)
    buf2288 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2288]
    launch(kernel_288, buf2288, 605184, grid=(1, 2, 3), stream=0)
    buf2289 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2289]
    launch(kernel_289, buf2289, 605184, grid=(1, 2, 3), stream=0)
    buf2290 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2290]
    launch(kernel_290, buf2290, 605184, grid=(1, 2, 3), stream=0)
    buf2291 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2291]
    launch(kernel_291, buf2291, 605184, grid=(1, 2, 3), stream=0)
    buf2292 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2292]
    launch(kernel_292, buf2292, 605184, grid=(1, 2, 3), stream=0)
    buf2293 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2293]
    launch(kernel_293, buf2293, 605184, grid=(1, 2, 3), stream=0)
    buf2294 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2294]
    launch(kernel_294, buf2294, 605184, grid=(1, 2, 3), stream=0)
    buf2295 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2295]
    launch(kernel_295, buf2295, 605184, grid=(1, 2, 3), stream=0)
    buf2296 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2296]
    launch(kernel_296, buf2296, 605184, grid=(1, 2, 3), stream=0)
    buf2297 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2297]
    launch(kernel_297, buf2297, 605184, grid=(1, 2, 3), stream=0)
    buf2298 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2298]
    launch(kernel_298, buf2298, 605184, grid=(1, 2, 3), stream=0)
    buf2299 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2299]
    launch(kernel_299, buf2299, 605184, grid=(1, 2, 3), stream=0)
    buf2300 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2300]
    launch(kernel_300, buf2300, 605184, grid=(1, 2, 3), stream=0)
    buf2301 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2301]
    launch(kernel_301, buf2301, 605184, grid=(1, 2, 3), stream=0)
    buf2302 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2302]
    launch(kernel_302, buf2302, 605184, grid=(1, 2, 3), stream=0)
    buf2303 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2303]
    launch(kernel_303, buf2303, 605184, grid=(1, 2, 3), stream=0)
    buf2304 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2304]
    launch(kernel_304, buf2304, 605184, grid=(1, 2, 3), stream=0)
    buf2305 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2305]
    launch(kernel_305, buf2305, 605184, grid=(1, 2, 3), stream=0)
    buf2306 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2306]
    launch(kernel_306, buf2306, 605184, grid=(1, 2, 3), stream=0)
    buf2307 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2307]
    launch(kernel_307, buf2307, 605184, grid=(1, 2, 3), stream=0)
    buf2308 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2308]
    launch(kernel_308, buf2308, 605184, grid=(1, 2, 3), stream=0)
    buf2309 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2309]
    launch(kernel_309, buf2309, 605184, grid=(1, 2, 3), stream=0)
    buf2310 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2310]
    launch(kernel_310, buf2310, 605184, grid=(1, 2, 3), stream=0)
    buf2311 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2311]
    launch(kernel_311, buf2311, 605184, grid=(1, 2, 3), stream=0)
    buf2312 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2312]
    launch(kernel_312, buf2312, 605184, grid=(1, 2, 3), stream=0)
    buf2313 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2313]
    launch(kernel_313, buf2313, 605184, grid=(1, 2, 3), stream=0)
    buf2314 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2314]
    launch(kernel_314, buf2314, 605184, grid=(1, 2, 3), stream=0)
    buf2315 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2315]
    launch(kernel_315, buf2315, 605184, grid=(1, 2, 3), stream=0)
    buf2316 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2316]
    launch(kernel_316, buf2316, 605184, grid=(1, 2, 3), stream=0)
    buf2317 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2317]
    launch(kernel_317, buf2317, 605184, grid=(1, 2, 3), stream=0)
    buf2318 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2318]
    launch(kernel_318, buf2318, 605184, grid=(1, 2, 3), stream=0)
    buf2319 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2319]
    launch(kernel_319, buf2319, 605184, grid=(1, 2, 3), stream=0)
    buf2320 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2320]
    launch(kernel_320, buf2320, 605184, grid=(1, 2, 3), stream=0)
    buf2321 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2321]
    launch(kernel_321, buf2321, 605184, grid=(1, 2, 3), stream=0)
    buf2322 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2322]
    launch(kernel_322, buf2322, 605184, grid=(1, 2, 3), stream=0)
    buf2323 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2323]
    launch(kernel_323, buf2323, 605184, grid=(1, 2, 3), stream=0)
    buf2324 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2324]
    launch(kernel_324, buf2324, 605184, grid=(1, 2, 3), stream=0)
    buf2325 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2325]
    launch(kernel_325, buf2325, 605184, grid=(1, 2, 3), stream=0)
    buf2326 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2326]
    launch(kernel_326, buf2326, 605184, grid=(1, 2, 3), stream=0)
    buf2327 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2327]
    launch(kernel_327, buf2327, 605184, grid=(1, 2, 3), stream=0)
    buf2328 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2328]
    launch(kernel_328, buf2328, 605184, grid=(1, 2, 3), stream=0)
    buf2329 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2329]
    launch(kernel_329, buf2329, 605184, grid=(1, 2, 3), stream=0)
    buf2330 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2330]
    launch(kernel_330, buf2330, 605184, grid=(1, 2, 3), stream=0)
    buf2331 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2331]
    launch(kernel_331, buf2331, 605184, grid=(1, 2, 3), stream=0)
    buf2332 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2332]
    launch(kernel_332, buf2332, 605184, grid=(1, 2, 3), stream=0)
    buf2333 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2333]
    launch(kernel_333, buf2333, 605184, grid=(1, 2, 3), stream=0)
    buf2334 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2334]
    launch(kernel_334, buf2334, 605184, grid=(1, 2, 3), stream=0)
    buf2335 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2335]
    launch(kernel_335, buf2335, 605184, grid=(1, 2, 3), stream=0)
    buf2336 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2336]
    launch(kernel_336, buf2336, 605184, grid=(1, 2, 3), stream=0)
    buf2337 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2337]
    launch(kernel_337, buf2337, 605184, grid=(1, 2, 3), stream=0)
    buf2338 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2338]
    launch(kernel_338, buf2338, 605184, grid=(1, 2, 3), stream=0)
    buf2339 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2339]
    launch(kernel_339, buf2339, 605184, grid=(1, 2, 3), stream=0)
    buf2340 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2340]
    launch(kernel_340, buf2340, 605184, grid=(1, 2, 3), stream=0)
    buf2341 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2341]
    launch(kernel_341, buf2341, 605184, grid=(1, 2, 3), stream=0)
    buf2342 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2342]
    launch(kernel_342, buf2342, 605184, grid=(1, 2, 3), stream=0)
    buf2343 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2343]
    launch(kernel_343, buf2343, 605184, grid=(1, 2, 3), stream=0)
    buf2344 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2344]
    launch(kernel_344, buf2344, 605184, grid=(1, 2, 3), stream=0)
    buf2345 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2345]
    launch(kernel_345, buf2345, 605184, grid=(1, 2, 3), stream=0)
    buf2346 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2346]
    launch(kernel_346, buf2346, 605184, grid=(1, 2, 3), stream=0)
    buf2347 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2347]
    launch(kernel_347, buf2347, 605184, grid=(1, 2, 3), stream=0)
    buf2348 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2348]
    launch(kernel_348, buf2348, 605184, grid=(1, 2, 3), stream=0)
    buf2349 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2349]
    launch(kernel_349, buf2349, 605184, grid=(1, 2, 3), stream=0)
    buf2350 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2350]
    launch(kernel_350, buf2350, 605184, grid=(1, 2, 3), stream=0)
    buf2351 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2351]
    launch(kernel_351, buf2351, 605184, grid=(1, 2, 3), stream=0)
    buf2352 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2352]
    launch(kernel_352, buf2352, 605184, grid=(1, 2, 3), stream=0)
    buf2353 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2353]
    launch(kernel_353, buf2353, 605184, grid=(1, 2, 3), stream=0)
    buf2354 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2354]
    launch(kernel_354, buf2354, 605184, grid=(1, 2, 3), stream=0)
    buf2355 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2355]
    launch(kernel_355, buf2355, 605184, grid=(1, 2, 3), stream=0)
    buf2356 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2356]
    launch(kernel_356, buf2356, 605184, grid=(1, 2, 3), stream=0)
    buf2357 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2357]
    launch(kernel_357, buf2357, 605184, grid=(1, 2, 3), stream=0)
    buf2358 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2358]
    launch(kernel_358, buf2358, 605184, grid=(1, 2, 3), stream=0)
    buf2359 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2359]
    launch(kernel_359, buf2359, 605184, grid=(1, 2, 3), stream=0)
    buf2360 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2360]
    launch(kernel_360, buf2360, 605184, grid=(1, 2, 3), stream=0)
    buf2361 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2361]
    launch(kernel_361, buf2361, 605184, grid=(1, 2, 3), stream=0)
    buf2362 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2362]
    launch(kernel_362, buf2362, 605184, grid=(1, 2, 3), stream=0)
    buf2363 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2363]
    launch(kernel_363, buf2363, 605184, grid=(1, 2, 3), stream=0)
    buf2364 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2364]
    launch(kernel_364, buf2364, 605184, grid=(1, 2, 3), stream=0)
    buf2365 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2365]
    launch(kernel_365, buf2365, 605184, grid=(1, 2, 3), stream=0)
    buf2366 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2366]
    launch(kernel_366, buf2366, 605184, grid=(1, 2, 3), stream=0)
    buf2367 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2367]
    launch(kernel_367, buf2367, 605184, grid=(1, 2, 3), stream=0)
    buf2368 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2368]
    launch(kernel_368, buf2368, 605184, grid=(1, 2, 3), stream=0)
    buf2369 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2369]
    launch(kernel_369, buf2369, 605184, grid=(1, 2, 3), stream=0)
    buf2370 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2370]
    launch(kernel_370, buf2370, 605184, grid=(1, 2, 3), stream=0)
    buf2371 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2371]
    launch(kernel_371, buf2371, 605184, grid=(1, 2, 3), stream=0)
    buf2372 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2372]
    launch(kernel_372, buf2372, 605184, grid=(1, 2, 3), stream=0)
    buf2373 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2373]
    launch(kernel_373, buf2373, 605184, grid=(1, 2, 3), stream=0)
    buf2374 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2374]
    launch(kernel_374, buf2374, 605184, grid=(1, 2, 3), stream=0)
    buf2375 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2375]
    launch(kernel_375, buf2375, 605184, grid=(1, 2, 3), stream=0)
    buf2376 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2376]
    launch(kernel_376, buf2376, 605184, grid=(1, 2, 3), stream=0)
    buf2377 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2377]
    launch(kernel_377, buf2377, 605184, grid=(1, 2, 3), stream=0)
    buf2378 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2378]
    launch(kernel_378, buf2378, 605184, grid=(1, 2, 3), stream=0)
    buf2379 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2379]
    launch(kernel_379, buf2379, 605184, grid=(1, 2, 3), stream=0)
    buf2380 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2380]
    launch(kernel_380, buf2380, 605184, grid=(1, 2, 3), stream=0)
    buf2381 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2381]
    launch(kernel_381, buf2381, 605184, grid=(1, 2, 3), stream=0)
    buf2382 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2382]
    launch(kernel_382, buf2382, 605184, grid=(1, 2, 3), stream=0)
    buf2383 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2383]
    launch(kernel_383, buf2383, 605184, grid=(1, 2, 3), stream=0)
    buf2384 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2384]
    launch(kernel_384, buf2384, 605184, grid=(1, 2, 3), stream=0)
    buf2385 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2385]
    launch(kernel_385, buf2385, 605184, grid=(1, 2, 3), stream=0)
    buf2386 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2386]
    launch(kernel_386, buf2386, 605184, grid=(1, 2, 3), stream=0)
    buf2387 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2387]
    launch(kernel_387, buf2387, 605184, grid=(1, 2, 3), stream=0)
    buf2388 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2388]
    launch(kernel_388, buf2388, 605184, grid=(1, 2, 3), stream=0)
    buf2389 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2389]
    launch(kernel_389, buf2389, 605184, grid=(1, 2, 3), stream=0)
    buf2390 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2390]
    launch(kernel_390, buf2390, 605184, grid=(1, 2, 3), stream=0)
    buf2391 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2391]
    launch(kernel_391, buf2391, 605184, grid=(1, 2, 3), stream=0)
    buf2392 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2392]
    launch(kernel_392, buf2392, 605184, grid=(1, 2, 3), stream=0)
    buf2393 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2393]
    launch(kernel_393, buf2393, 605184, grid=(1, 2, 3), stream=0)
    buf2394 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2394]
    launch(kernel_394, buf2394, 605184, grid=(1, 2, 3), stream=0)
    buf2395 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2395]
    launch(kernel_395, buf2395, 605184, grid=(1, 2, 3), stream=0)
    buf2396 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2396]
    launch(kernel_396, buf2396, 605184, grid=(1, 2, 3), stream=0)
    buf2397 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2397]
    launch(kernel_397, buf2397, 605184, grid=(1, 2, 3), stream=0)
    buf2398 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2398]
    launch(kernel_398, buf2398, 605184, grid=(1, 2, 3), stream=0)
    buf2399 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2399]
    launch(kernel_399, buf2399, 605184, grid=(1, 2, 3), stream=0)
    buf2400 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2400]
    launch(kernel_400, buf2400, 605184, grid=(1, 2, 3), stream=0)
    buf2401 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2401]
    launch(kernel_401, buf2401, 605184, grid=(1, 2, 3), stream=0)
    buf2402 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2402]
    launch(kernel_402, buf2402, 605184, grid=(1, 2, 3), stream=0)
    buf2403 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2403]
    launch(kernel_403, buf2403, 605184, grid=(1, 2, 3), stream=0)
    buf2404 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2404]
    launch(kernel_404, buf2404, 605184, grid=(1, 2, 3), stream=0)
    buf2405 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2405]
    launch(kernel_405, buf2405, 605184, grid=(1, 2, 3), stream=0)
    buf2406 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2406]
    launch(kernel_406, buf2406, 605184, grid=(1, 2, 3), stream=0)
    buf2407 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2407]
    launch(kernel_407, buf2407, 605184, grid=(1, 2, 3), stream=0)
    buf2408 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2408]
    launch(kernel_408, buf2408, 605184, grid=(1, 2, 3), stream=0)
    buf2409 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2409]
    launch(kernel_409, buf2409, 605184, grid=(1, 2, 3), stream=0)
    buf2410 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2410]
    launch(kernel_410, buf2410, 605184, grid=(1, 2, 3), stream=0)
    buf2411 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2411]
    launch(kernel_411, buf2411, 605184, grid=(1, 2, 3), stream=0)
    buf2412 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2412]
    launch(kernel_412, buf2412, 605184, grid=(1, 2, 3), stream=0)
    buf2413 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2413]
    launch(kernel_413, buf2413, 605184, grid=(1, 2, 3), stream=0)
    buf2414 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2414]
    launch(kernel_414, buf2414, 605184, grid=(1, 2, 3), stream=0)
    buf2415 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2415]
    launch(kernel_415, buf2415, 605184, grid=(1, 2, 3), stream=0)
    buf2416 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2416]
    launch(kernel_416, buf2416, 605184, grid=(1, 2, 3), stream=0)
    buf2417 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2417]
    launch(kernel_417, buf2417, 605184, grid=(1, 2, 3), stream=0)
    buf2418 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2418]
    launch(kernel_418, buf2418, 605184, grid=(1, 2, 3), stream=0)
    buf2419 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2419]
    launch(kernel_419, buf2419, 605184, grid=(1, 2, 3), stream=0)
    buf2420 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2420]
    launch(kernel_420, buf2420, 605184, grid=(1, 2, 3), stream=0)
    buf2421 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2421]
    launch(kernel_421, buf2421, 605184, grid=(1, 2, 3), stream=0)
    buf2422 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2422]
    launch(kernel_422, buf2422, 605184, grid=(1, 2, 3), stream=0)
    buf2423 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2423]
    launch(kernel_423, buf2423, 605184, grid=(1, 2, 3), stream=0)
    buf2424 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2424]
    launch(kernel_424, buf2424, 605184, grid=(1, 2, 3), stream=0)
    buf2425 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2425]
    launch(kernel_425, buf2425, 605184, grid=(1, 2, 3), stream=0)
    buf2426 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2426]
    launch(kernel_426, buf2426, 605184, grid=(1, 2, 3), stream=0)
    buf2427 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2427]
    launch(kernel_427, buf2427, 605184, grid=(1, 2, 3), stream=0)
    buf2428 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2428]
    launch(kernel_428, buf2428, 605184, grid=(1, 2, 3), stream=0)
    buf2429 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2429]
    launch(kernel_429, buf2429, 605184, grid=(1, 2, 3), stream=0)
    buf2430 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2430]
    launch(kernel_430, buf2430, 605184, grid=(1, 2, 3), stream=0)
    buf2431 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2431]
    launch(kernel_431, buf2431, 605184, grid=(1, 2, 3), stream=0)
    buf2432 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2432]
    launch(kernel_432, buf2432, 605184, grid=(1, 2, 3), stream=0)
    buf2433 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2433]
    launch(kernel_433, buf2433, 605184, grid=(1, 2, 3), stream=0)
    buf2434 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2434]
    launch(kernel_434, buf2434, 605184, grid=(1, 2, 3), stream=0)
    buf2435 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2435]
    launch(kernel_435, buf2435, 605184, grid=(1, 2, 3), stream=0)
    buf2436 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2436]
    launch(kernel_436, buf2436, 605184, grid=(1, 2, 3), stream=0)
    buf2437 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2437]
    launch(kernel_437, buf2437, 605184, grid=(1, 2, 3), stream=0)
    buf2438 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2438]
    launch(kernel_438, buf2438, 605184, grid=(1, 2, 3), stream=0)
    buf2439 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2439]
    launch(kernel_439, buf2439, 605184, grid=(1, 2, 3), stream=0)
    buf2440 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2440]
    launch(kernel_440, buf2440, 605184, grid=(1, 2, 3), stream=0)
    buf2441 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2441]
    launch(kernel_441, buf2441, 605184, grid=(1, 2, 3), stream=0)
    buf2442 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2442]
    launch(kernel_442, buf2442, 605184, grid=(1, 2, 3), stream=0)
    buf2443 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2443]
    launch(kernel_443, buf2443, 605184, grid=(1, 2, 3), stream=0)
    buf2444 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2444]
    launch(kernel_444, buf2444, 605184, grid=(1, 2, 3), stream=0)
    buf2445 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2445]
    launch(kernel_445, buf2445, 605184, grid=(1, 2, 3), stream=0)
    buf2446 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2446]
    launch(kernel_446, buf2446, 605184, grid=(1, 2, 3), stream=0)
    buf2447 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2447]
    launch(kernel_447, buf2447, 605184, grid=(1, 2, 3), stream=0)
    buf2448 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2448]
    launch(kernel_448, buf2448, 605184, grid=(1, 2, 3), stream=0)
    buf2449 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2449]
    launch(kernel_449, buf2449, 605184, grid=(1, 2, 3), stream=0)
    buf2450 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2450]
    launch(kernel_450, buf2450, 605184, grid=(1, 2, 3), stream=0)
    buf2451 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2451]
    launch(kernel_451, buf2451, 605184, grid=(1, 2, 3), stream=0)
    buf2452 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2452]
    launch(kernel_452, buf2452, 605184, grid=(1, 2, 3), stream=0)
    buf2453 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2453]
    launch(kernel_453, buf2453, 605184, grid=(1, 2, 3), stream=0)
    buf2454 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2454]
    launch(kernel_454, buf2454, 605184, grid=(1, 2, 3), stream=0)
    buf2455 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2455]
    launch(kernel_455, buf2455, 605184, grid=(1, 2, 3), stream=0)
    buf2456 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2456]
    launch(kernel_456, buf2456, 605184, grid=(1, 2, 3), stream=0)
    buf2457 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2457]
    launch(kernel_457, buf2457, 605184, grid=(1, 2, 3), stream=0)
    buf2458 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2458]
    launch(kernel_458, buf2458, 605184, grid=(1, 2, 3), stream=0)
    buf2459 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2459]
    launch(kernel_459, buf2459, 605184, grid=(1, 2, 3), stream=0)
    buf2460 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2460]
    launch(kernel_460, buf2460, 605184, grid=(1, 2, 3), stream=0)
    buf2461 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2461]
    launch(kernel_461, buf2461, 605184, grid=(1, 2, 3), stream=0)
    buf2462 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2462]
    launch(kernel_462, buf2462, 605184, grid=(1, 2, 3), stream=0)
    buf2463 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2463]
    launch(kernel_463, buf2463, 605184, grid=(1, 2, 3), stream=0)
    buf2464 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2464]
    launch(kernel_464, buf2464, 605184, grid=(1, 2, 3), stream=0)
    buf2465 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2465]
    launch(kernel_465, buf2465, 605184, grid=(1, 2, 3), stream=0)
    buf2466 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2466]
    launch(kernel_466, buf2466, 605184, grid=(1, 2, 3), stream=0)
    buf2467 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2467]
    launch(kernel_467, buf2467, 605184, grid=(1, 2, 3), stream=0)
    buf2468 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2468]
    launch(kernel_468, buf2468, 605184, grid=(1, 2, 3), stream=0)
    buf2469 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2469]
    launch(kernel_469, buf2469, 605184, grid=(1, 2, 3), stream=0)
    buf2470 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2470]
    launch(kernel_470, buf2470, 605184, grid=(1, 2, 3), stream=0)
    buf2471 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2471]
    launch(kernel_471, buf2471, 605184, grid=(1, 2, 3), stream=0)
    buf2472 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2472]
    launch(kernel_472, buf2472, 605184, grid=(1, 2, 3), stream=0)
    buf2473 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2473]
    launch(kernel_473, buf2473, 605184, grid=(1, 2, 3), stream=0)
    buf2474 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2474]
    launch(kernel_474, buf2474, 605184, grid=(1, 2, 3), stream=0)
    buf2475 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2475]
    launch(kernel_475, buf2475, 605184, grid=(1, 2, 3), stream=0)
    buf2476 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2476]
    launch(kernel_476, buf2476, 605184, grid=(1, 2, 3), stream=0)
    buf2477 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2477]
    launch(kernel_477, buf2477, 605184, grid=(1, 2, 3), stream=0)
    buf2478 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2478]
    launch(kernel_478, buf2478, 605184, grid=(1, 2, 3), stream=0)
    buf2479 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2479]
    launch(kernel_479, buf2479, 605184, grid=(1, 2, 3), stream=0)
    buf2480 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2480]
    launch(kernel_480, buf2480, 605184, grid=(1, 2, 3), stream=0)
    buf2481 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2481]
    launch(kernel_481, buf2481, 605184, grid=(1, 2, 3), stream=0)
    buf2482 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2482]
    launch(kernel_482, buf2482, 605184, grid=(1, 2, 3), stream=0)
    buf2483 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2483]
    launch(kernel_483, buf2483, 605184, grid=(1, 2, 3), stream=0)
    buf2484 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2484]
    launch(kernel_484, buf2484, 605184, grid=(1, 2, 3), stream=0)
    buf2485 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2485]
    launch(kernel_485, buf2485, 605184, grid=(1, 2, 3), stream=0)
    buf2486 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2486]
    launch(kernel_486, buf2486, 605184, grid=(1, 2, 3), stream=0)
    buf2487 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2487]
    launch(kernel_487, buf2487, 605184, grid=(1, 2, 3), stream=0)
    buf2488 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2488]
    launch(kernel_488, buf2488, 605184, grid=(1, 2, 3), stream=0)
    buf2489 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2489]
    launch(kernel_489, buf2489, 605184, grid=(1, 2, 3), stream=0)
    buf2490 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2490]
    launch(kernel_490, buf2490, 605184, grid=(1, 2, 3), stream=0)
    buf2491 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2491]
    launch(kernel_491, buf2491, 605184, grid=(1, 2, 3), stream=0)
    buf2492 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2492]
    launch(kernel_492, buf2492, 605184, grid=(1, 2, 3), stream=0)
    buf2493 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2493]
    launch(kernel_493, buf2493, 605184, grid=(1, 2, 3), stream=0)
    buf2494 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2494]
    launch(kernel_494, buf2494, 605184, grid=(1, 2, 3), stream=0)
    buf2495 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2495]
    launch(kernel_495, buf2495, 605184, grid=(1, 2, 3), stream=0)
    buf2496 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2496]
    launch(kernel_496, buf2496, 605184, grid=(1, 2, 3), stream=0)
    buf2497 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2497]
    launch(kernel_497, buf2497, 605184, grid=(1, 2, 3), stream=0)
    buf2498 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2498]
    launch(kernel_498, buf2498, 605184, grid=(1, 2, 3), stream=0)
    buf2499 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2499]
    launch(kernel_499, buf2499, 605184, grid=(1, 2, 3), stream=0)
    buf2500 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2500]
    launch(kernel_500, buf2500, 605184, grid=(1, 2, 3), stream=0)
    buf2501 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2501]
    launch(kernel_501, buf2501, 605184, grid=(1, 2, 3), stream=0)
    buf2502 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2502]
    launch(kernel_502, buf2502, 605184, grid=(1, 2, 3), stream=0)
    buf2503 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2503]
    launch(kernel_503, buf2503, 605184, grid=(1, 2, 3), stream=0)
    buf2504 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2504]
    launch(kernel_504, buf2504, 605184, grid=(1, 2, 3), stream=0)
    buf2505 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2505]
    launch(kernel_505, buf2505, 605184, grid=(1, 2, 3), stream=0)
    buf2506 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2506]
    launch(kernel_506, buf2506, 605184, grid=(1, 2, 3), stream=0)
    buf2507 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2507]
    launch(kernel_507, buf2507, 605184, grid=(1, 2, 3), stream=0)
    buf2508 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2508]
    launch(kernel_508, buf2508, 605184, grid=(1, 2, 3), stream=0)
    buf2509 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2509]
    launch(kernel_509, buf2509, 605184, grid=(1, 2, 3), stream=0)
    buf2510 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2510]
    launch(kernel_510, buf2510, 605184, grid=(1, 2, 3), stream=0)
    buf2511 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2511]
    launch(kernel_511, buf2511, 605184, grid=(1, 2, 3), stream=0)
    buf2512 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2512]
    launch(kernel_512, buf2512, 605184, grid=(1, 2, 3), stream=0)
    buf2513 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2513]
    launch(kernel_513, buf2513, 605184, grid=(1, 2, 3), stream=0)
    buf2514 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2514]
    launch(kernel_514, buf2514, 605184, grid=(1, 2, 3), stream=0)
    buf2515 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2515]
    launch(kernel_515, buf2515, 605184, grid=(1, 2, 3), stream=0)
    buf2516 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2516]
    launch(kernel_516, buf2516, 605184, grid=(1, 2, 3), stream=0)
    buf2517 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2517]
    launch(kernel_517, buf2517, 605184, grid=(1, 2, 3), stream=0)
    buf2518 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2518]
    launch(kernel_518, buf2518, 605184, grid=(1, 2, 3), stream=0)
    buf2519 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2519]
    launch(kernel_519, buf2519, 605184, grid=(1, 2, 3), stream=0)
    buf2520 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2520]
    launch(kernel_520, buf2520, 605184, grid=(1, 2, 3), stream=0)
    buf2521 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2521]
    launch(kernel_521, buf2521, 605184, grid=(1, 2, 3), stream=0)
    buf2522 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2522]
    launch(kernel_522, buf2522, 605184, grid=(1, 2, 3), stream=0)
    buf2523 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2523]
    launch(kernel_523, buf2523, 605184, grid=(1, 2, 3), stream=0)
    buf2524 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2524]
    launch(kernel_524, buf2524, 605184, grid=(1, 2, 3), stream=0)
    buf2525 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2525]
    launch(kernel_525, buf2525, 605184, grid=(1, 2, 3), stream=0)
    buf2526 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2526]
    launch(kernel_526, buf2526, 605184, grid=(1, 2, 3), stream=0)
    buf2527 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2527]
    launch(kernel_527, buf2527, 605184, grid=(1, 2, 3), stream=0)
    buf2528 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2528]
    launch(kernel_528, buf2528, 605184, grid=(1, 2, 3), stream=0)
    buf2529 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2529]
    launch(kernel_529, buf2529, 605184, grid=(1, 2, 3), stream=0)
    buf2530 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2530]
    launch(kernel_530, buf2530, 605184, grid=(1, 2, 3), stream=0)
    buf2531 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2531]
    launch(kernel_531, buf2531, 605184, grid=(1, 2, 3), stream=0)
    buf2532 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2532]
    launch(kernel_532, buf2532, 605184, grid=(1, 2, 3), stream=0)
    buf2533 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2533]
    launch(kernel_533, buf2533, 605184, grid=(1, 2, 3), stream=0)
    buf2534 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2534]
    launch(kernel_534, buf2534, 605184, grid=(1, 2, 3), stream=0)
    buf2535 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2535]
    launch(kernel_535, buf2535, 605184, grid=(1, 2, 3), stream=0)
    buf2536 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2536]
    launch(kernel_536, buf2536, 605184, grid=(1, 2, 3), stream=0)
    buf2537 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2537]
    launch(kernel_537, buf2537, 605184, grid=(1, 2, 3), stream=0)
    buf2538 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2538]
    launch(kernel_538, buf2538, 605184, grid=(1, 2, 3), stream=0)
    buf2539 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2539]
    launch(kernel_539, buf2539, 605184, grid=(1, 2, 3), stream=0)
    buf2540 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2540]
    launch(kernel_540, buf2540, 605184, grid=(1, 2, 3), stream=0)
    buf2541 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2541]
    launch(kernel_541, buf2541, 605184, grid=(1, 2, 3), stream=0)
    buf2542 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2542]
    launch(kernel_542, buf2542, 605184, grid=(1, 2, 3), stream=0)
    buf2543 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2543]
    launch(kernel_543, buf2543, 605184, grid=(1, 2, 3), stream=0)
    buf2544 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2544]
    launch(kernel_544, buf2544, 605184, grid=(1, 2, 3), stream=0)
    buf2545 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2545]
    launch(kernel_545, buf2545, 605184, grid=(1, 2, 3), stream=0)
    buf2546 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2546]
    launch(kernel_546, buf2546, 605184, grid=(1, 2, 3), stream=0)
    buf2547 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2547]
    launch(kernel_547, buf2547, 605184, grid=(1, 2, 3), stream=0)
    buf2548 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2548]
    launch(kernel_548, buf2548, 605184, grid=(1, 2, 3), stream=0)
    buf2549 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2549]
    launch(kernel_549, buf2549, 605184, grid=(1, 2, 3), stream=0)
    buf2550 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2550]
    launch(kernel_550, buf2550, 605184, grid=(1, 2, 3), stream=0)
    buf2551 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2551]
    launch(kernel_551, buf2551, 605184, grid=(1, 2, 3), stream=0)
    buf2552 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2552]
    launch(kernel_552, buf2552, 605184, grid=(1, 2, 3), stream=0)
    buf2553 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2553]
    launch(kernel_553, buf2553, 605184, grid=(1, 2, 3), stream=0)
    buf2554 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2554]
    launch(kernel_554, buf2554, 605184, grid=(1, 2, 3), stream=0)
    buf2555 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2555]
    launch(kernel_555, buf2555, 605184, grid=(1, 2, 3), stream=0)
    buf2556 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2556]
    launch(kernel_556, buf2556, 605184, grid=(1, 2, 3), stream=0)
    buf2557 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2557]
    launch(kernel_557, buf2557, 605184, grid=(1, 2, 3), stream=0)
    buf2558 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2558]
    launch(kernel_558, buf2558, 605184, grid=(1, 2, 3), stream=0)
    buf2559 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2559]
    launch(kernel_559, buf2559, 605184, grid=(1, 2, 3), stream=0)
    buf2560 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2560]
    launch(kernel_560, buf2560, 605184, grid=(1, 2, 3), stream=0)
    buf2561 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2561]
    launch(kernel_561, buf2561, 605184, grid=(1, 2, 3), stream=0)
    buf2562 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2562]
    launch(kernel_562, buf2562, 605184, grid=(1, 2, 3), stream=0)
    buf2563 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2563]
    launch(kernel_563, buf2563, 605184, grid=(1, 2, 3), stream=0)
    buf2564 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2564]
    launch(kernel_564, buf2564, 605184, grid=(1, 2, 3), stream=0)
    buf2565 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2565]
    launch(kernel_565, buf2565, 605184, grid=(1, 2, 3), stream=0)
    buf2566 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2566]
    launch(kernel_566, buf2566, 605184, grid=(1, 2, 3), stream=0)
    buf2567 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2567]
    launch(kernel_567, buf2567, 605184, grid=(1, 2, 3), stream=0)
    buf2568 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2568]
    launch(kernel_568, buf2568, 605184, grid=(1, 2, 3), stream=0)
    buf2569 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2569]
    launch(kernel_569, buf2569, 605184, grid=(1, 2, 3), stream=0)
    buf2570 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2570]
    launch(kernel_570, buf2570, 605184, grid=(1, 2, 3), stream=0)
    buf2571 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2571]
    launch(kernel_571, buf2571, 605184, grid=(1, 2, 3), stream=0)
    buf2572 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2572]
    launch(kernel_572, buf2572, 605184, grid=(1, 2, 3), stream=0)
    buf2573 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2573]
    launch(kernel_573, buf2573, 605184, grid=(1, 2, 3), stream=0)
    buf2574 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2574]
    launch(kernel_574, buf2574, 605184, grid=(1, 2, 3), stream=0)
    buf2575 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2575]
    launch(kernel_575, buf2575, 605184, grid=(1, 2, 3), stream=0)
    buf2576 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2576]
    launch(kernel_576, buf2576, 605184, grid=(1, 2, 3), stream=0)
    buf2577 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2577]
    launch(kernel_577, buf2577, 605184, grid=(1, 2, 3), stream=0)
    buf2578 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2578]
    launch(kernel_578, buf2578, 605184, grid=(1, 2, 3), stream=0)
    buf2579 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2579]
    launch(kernel_579, buf2579, 605184, grid=(1, 2, 3), stream=0)
    buf2580 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2580]
    launch(kernel_580, buf2580, 605184, grid=(1, 2, 3), stream=0)
    buf2581 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2581]
    launch(kernel_581, buf2581, 605184, grid=(1, 2, 3), stream=0)
    buf2582 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2582]
    launch(kernel_582, buf2582, 605184, grid=(1, 2, 3), stream=0)
    buf2583 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2583]
    launch(kernel_583, buf2583, 605184, grid=(1, 2, 3), stream=0)
    buf2584 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2584]
    launch(kernel_584, buf2584, 605184, grid=(1, 2, 3), stream=0)
    buf2585 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2585]
    launch(kernel_585, buf2585, 605184, grid=(1, 2, 3), stream=0)
    buf2586 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2586]
    launch(kernel_586, buf2586, 605184, grid=(1, 2, 3), stream=0)
    buf2587 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2587]
    launch(kernel_587, buf2587, 605184, grid=(1, 2, 3), stream=0)
    buf2588 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2588]
    launch(kernel_588, buf2588, 605184, grid=(1, 2, 3), stream=0)
    buf2589 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2589]
    launch(kernel_589, buf2589, 605184, grid=(1, 2, 3), stream=0)
    buf2590 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2590]
    launch(kernel_590, buf2590, 605184, grid=(1, 2, 3), stream=0)
    buf2591 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2591]
    launch(kernel_591, buf2591, 605184, grid=(1, 2, 3), stream=0)
    buf2592 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2592]
    launch(kernel_592, buf2592, 605184, grid=(1, 2, 3), stream=0)
    buf2593 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2593]
    launch(kernel_593, buf2593, 605184, grid=(1, 2, 3), stream=0)
    buf2594 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2594]
    launch(kernel_594, buf2594, 605184, grid=(1, 2, 3), stream=0)
    buf2595 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2595]
    launch(kernel_595, buf2595, 605184, grid=(1, 2, 3), stream=0)
    buf2596 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2596]
    launch(kernel_596, buf2596, 605184, grid=(1, 2, 3), stream=0)
    buf2597 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2597]
    launch(kernel_597, buf2597, 605184, grid=(1, 2, 3), stream=0)
    buf2598 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2598]
    launch(kernel_598, buf2598, 605184, grid=(1, 2, 3), stream=0)
    buf2599 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2599]
    launch(kernel_599, buf2599, 605184, grid=(1, 2, 3), stream=0)
    buf2600 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2600]
    launch(kernel_600, buf2600, 605184, grid=(1, 2, 3), stream=0)
    buf2601 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2601]
    launch(kernel_601, buf2601, 605184, grid=(1, 2, 3), stream=0)
    buf2602 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2602]
    launch(kernel_602, buf2602, 605184, grid=(1, 2, 3), stream=0)
    buf2603 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2603]
    launch(kernel_603, buf2603, 605184, grid=(1, 2, 3), stream=0)
    buf2604 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2604]
    launch(kernel_604, buf2604, 605184, grid=(1, 2, 3), stream=0)
    buf2605 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2605]
    launch(kernel_605, buf2605, 605184, grid=(1, 2, 3), stream=0)
    buf2606 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2606]
    launch(kernel_606, buf2606, 605184, grid=(1, 2, 3), stream=0)
    buf2607 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2607]
    launch(kernel_607, buf2607, 605184, grid=(1, 2, 3), stream=0)
    buf2608 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2608]
    launch(kernel_608, buf2608, 605184, grid=(1, 2, 3), stream=0)
    buf2609 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2609]
    launch(kernel_609, buf2609, 605184, grid=(1, 2, 3), stream=0)
    buf2610 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2610]
    launch(kernel_610, buf2610, 605184, grid=(1, 2, 3), stream=0)
    buf2611 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2611]
    launch(kernel_611, buf2611, 605184, grid=(1, 2, 3), stream=0)
    buf2612 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2612]
    launch(kernel_612, buf2612, 605184, grid=(1, 2, 3), stream=0)
    buf2613 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2613]
    launch(kernel_613, buf2613, 605184, grid=(1, 2, 3), stream=0)
    buf2614 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2614]
    launch(kernel_614, buf2614, 605184, grid=(1, 2, 3), stream=0)
    buf2615 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2615]
    launch(kernel_615, buf2615, 605184, grid=(1, 2, 3), stream=0)
    buf2616 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2616]
    launch(kernel_616, buf2616, 605184, grid=(1, 2, 3), stream=0)
    buf2617 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2617]
    launch(kernel_617, buf2617, 605184, grid=(1, 2, 3), stream=0)
    buf2618 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2618]
    launch(kernel_618, buf2618, 605184, grid=(1, 2, 3), stream=0)
    buf2619 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2619]
    launch(kernel_619, buf2619, 605184, grid=(1, 2, 3), stream=0)
    buf2620 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2620]
    launch(kernel_620, buf2620, 605184, grid=(1, 2, 3), stream=0)
    buf2621 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2621]
    launch(kernel_621, buf2621, 605184, grid=(1, 2, 3), stream=0)
    buf2622 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2622]
    launch(kernel_622, buf2622, 605184, grid=(1, 2, 3), stream=0)
    buf2623 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2623]
    launch(kernel_623, buf2623, 605184, grid=(1, 2, 3), stream=0)
    buf2624 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2624]
    launch(kernel_624, buf2624, 605184, grid=(1, 2, 3), stream=0)
    buf2625 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2625]
    launch(kernel_625, buf2625, 605184, grid=(1, 2, 3), stream=0)
    buf2626 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2626]
    launch(kernel_626, buf2626, 605184, grid=(1, 2, 3), stream=0)
    buf2627 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2627]
    launch(kernel_627, buf2627, 605184, grid=(1, 2, 3), stream=0)
    buf2628 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2628]
    launch(kernel_628, buf2628, 605184, grid=(1, 2, 3), stream=0)
    buf2629 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2629]
    launch(kernel_629, buf2629, 605184, grid=(1, 2, 3), stream=0)
    buf2630 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2630]
    launch(kernel_630, buf2630, 605184, grid=(1, 2, 3), stream=0)
    buf2631 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2631]
    launch(kernel_631, buf2631, 605184, grid=(1, 2, 3), stream=0)
    buf2632 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2632]
    launch(kernel_632, buf2632, 605184, grid=(1, 2, 3), stream=0)
    buf2633 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2633]
    launch(kernel_633, buf2633, 605184, grid=(1, 2, 3), stream=0)
    buf2634 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2634]
    launch(kernel_634, buf2634, 605184, grid=(1, 2, 3), stream=0)
    buf2635 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2635]
    launch(kernel_635, buf2635, 605184, grid=(1, 2, 3), stream=0)
    buf2636 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2636]
    launch(kernel_636, buf2636, 605184, grid=(1, 2, 3), stream=0)
    buf2637 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2637]
    launch(kernel_637, buf2637, 605184, grid=(1, 2, 3), stream=0)
    buf2638 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2638]
    launch(kernel_638, buf2638, 605184, grid=(1, 2, 3), stream=0)
    buf2639 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2639]
    launch(kernel_639, buf2639, 605184, grid=(1, 2, 3), stream=0)
    buf2640 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2640]
    launch(kernel_640, buf2640, 605184, grid=(1, 2, 3), stream=0)
    buf2641 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2641]
    launch(kernel_641, buf2641, 605184, grid=(1, 2, 3), stream=0)
    buf2642 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2642]
    launch(kernel_642, buf2642, 605184, grid=(1, 2, 3), stream=0)
    buf2643 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2643]
    launch(kernel_643, buf2643, 605184, grid=(1, 2, 3), stream=0)
    buf2644 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2644]
    launch(kernel_644, buf2644, 605184, grid=(1, 2, 3), stream=0)
    buf2645 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2645]
    launch(kernel_645, buf2645, 605184, grid=(1, 2, 3), stream=0)
    buf2646 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2646]
    launch(kernel_646, buf2646, 605184, grid=(1, 2, 3), stream=0)
    buf2647 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2647]
    launch(kernel_647, buf2647, 605184, grid=(1, 2, 3), stream=0)
    buf2648 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2648]
    launch(kernel_648, buf2648, 605184, grid=(1, 2, 3), stream=0)
    buf2649 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2649]
    launch(kernel_649, buf2649, 605184, grid=(1, 2, 3), stream=0)
    buf2650 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2650]
    launch(kernel_650, buf2650, 605184, grid=(1, 2, 3), stream=0)
    buf2651 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2651]
    launch(kernel_651, buf2651, 605184, grid=(1, 2, 3), stream=0)
    buf2652 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2652]
    launch(kernel_652, buf2652, 605184, grid=(1, 2, 3), stream=0)
    buf2653 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2653]
    launch(kernel_653, buf2653, 605184, grid=(1, 2, 3), stream=0)
    buf2654 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2654]
    launch(kernel_654, buf2654, 605184, grid=(1, 2, 3), stream=0)
    buf2655 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2655]
    launch(kernel_655, buf2655, 605184, grid=(1, 2, 3), stream=0)
    buf2656 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2656]
    launch(kernel_656, buf2656, 605184, grid=(1, 2, 3), stream=0)
    buf2657 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2657]
    launch(kernel_657, buf2657, 605184, grid=(1, 2, 3), stream=0)
    buf2658 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2658]
    launch(kernel_658, buf2658, 605184, grid=(1, 2, 3), stream=0)
    buf2659 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2659]
    launch(kernel_659, buf2659, 605184, grid=(1, 2, 3), stream=0)
    buf2660 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2660]
    launch(kernel_660, buf2660, 605184, grid=(1, 2, 3), stream=0)
    buf2661 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2661]
    launch(kernel_661, buf2661, 605184, grid=(1, 2, 3), stream=0)
    buf2662 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2662]
    launch(kernel_662, buf2662, 605184, grid=(1, 2, 3), stream=0)
    buf2663 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2663]
    launch(kernel_663, buf2663, 605184, grid=(1, 2, 3), stream=0)
    buf2664 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2664]
    launch(kernel_664, buf2664, 605184, grid=(1, 2, 3), stream=0)
    buf2665 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2665]
    launch(kernel_665, buf2665, 605184, grid=(1, 2, 3), stream=0)
    buf2666 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2666]
    launch(kernel_666, buf2666, 605184, grid=(1, 2, 3), stream=0)
    buf2667 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2667]
    launch(kernel_667, buf2667, 605184, grid=(1, 2, 3), stream=0)
    buf2668 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2668]
    launch(kernel_668, buf2668, 605184, grid=(1, 2, 3), stream=0)
    buf2669 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2669]
    launch(kernel_669, buf2669, 605184, grid=(1, 2, 3), stream=0)
    buf2670 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2670]
    launch(kernel_670, buf2670, 605184, grid=(1, 2, 3), stream=0)
    buf2671 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2671]
    launch(kernel_671, buf2671, 605184, grid=(1, 2, 3), stream=0)
    buf2672 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2672]
    launch(kernel_672, buf2672, 605184, grid=(1, 2, 3), stream=0)
    buf2673 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2673]
    launch(kernel_673, buf2673, 605184, grid=(1, 2, 3), stream=0)
    buf2674 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2674]
    launch(kernel_674, buf2674, 605184, grid=(1, 2, 3), stream=0)
    buf2675 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2675]
    launch(kernel_675, buf2675, 605184, grid=(1, 2, 3), stream=0)
    buf2676 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2676]
    launch(kernel_676, buf2676, 605184, grid=(1, 2, 3), stream=0)
    buf2677 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2677]
    launch(kernel_677, buf2677, 605184, grid=(1, 2, 3), stream=0)
    buf2678 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2678]
    launch(kernel_678, buf2678, 605184, grid=(1, 2, 3), stream=0)
    buf2679 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2679]
    launch(kernel_679, buf2679, 605184, grid=(1, 2, 3), stream=0)
    buf2680 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2680]
    launch(kernel_680, buf2680, 605184, grid=(1, 2, 3), stream=0)
    buf2681 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2681]
    launch(kernel_681, buf2681, 605184, grid=(1, 2, 3), stream=0)
    buf2682 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2682]
    launch(kernel_682, buf2682, 605184, grid=(1, 2, 3), stream=0)
    buf2683 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2683]
    launch(kernel_683, buf2683, 605184, grid=(1, 2, 3), stream=0)
    buf2684 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2684]
    launch(kernel_684, buf2684, 605184, grid=(1, 2, 3), stream=0)
    buf2685 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2685]
    launch(kernel_685, buf2685, 605184, grid=(1, 2, 3), stream=0)
    buf2686 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2686]
    launch(kernel_686, buf2686, 605184, grid=(1, 2, 3), stream=0)
    buf2687 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2687]
    launch(kernel_687, buf2687, 605184, grid=(1, 2, 3), stream=0)
    buf2688 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2688]
    launch(kernel_688, buf2688, 605184, grid=(1, 2, 3), stream=0)
    buf2689 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2689]
    launch(kernel_689, buf2689, 605184, grid=(1, 2, 3), stream=0)
    buf2690 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2690]
    launch(kernel_690, buf2690, 605184, grid=(1, 2, 3), stream=0)
    buf2691 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2691]
    launch(kernel_691, buf2691, 605184, grid=(1, 2, 3), stream=0)
    buf2692 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2692]
    launch(kernel_692, buf2692, 605184, grid=(1, 2, 3), stream=0)
    buf2693 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2693]
    launch(kernel_693, buf2693, 605184, grid=(1, 2, 3), stream=0)
    buf2694 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2694]
    launch(kernel_694, buf2694, 605184, grid=(1, 2, 3), stream=0)
    buf2695 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2695]
    launch(kernel_695, buf2695, 605184, grid=(1, 2, 3), stream=0)
    buf2696 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2696]
    launch(kernel_696, buf2696, 605184, grid=(1, 2, 3), stream=0)
    buf2697 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2697]
    launch(kernel_697, buf2697, 605184, grid=(1, 2, 3), stream=0)
    buf2698 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2698]
    launch(kernel_698, buf2698, 605184, grid=(1, 2, 3), stream=0)
    buf2699 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2699]
    launch(kernel_699, buf2699, 605184, grid=(1, 2, 3), stream=0)
    buf2700 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2700]
    launch(kernel_700, buf2700, 605184, grid=(1, 2, 3), stream=0)
    buf2701 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2701]
    launch(kernel_701, buf2701, 605184, grid=(1, 2, 3), stream=0)
    buf2702 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2702]
    launch(kernel_702, buf2702, 605184, grid=(1, 2, 3), stream=0)
    buf2703 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2703]
    launch(kernel_703, buf2703, 605184, grid=(1, 2, 3), stream=0)
    buf2704 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2704]
    launch(kernel_704, buf2704, 605184, grid=(1, 2, 3), stream=0)
    buf2705 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2705]
    launch(kernel_705, buf2705, 605184, grid=(1, 2, 3), stream=0)
    buf2706 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2706]
    launch(kernel_706, buf2706, 605184, grid=(1, 2, 3), stream=0)
    buf2707 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2707]
    launch(kernel_707, buf2707, 605184, grid=(1, 2, 3), stream=0)
    buf2708 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2708]
    launch(kernel_708, buf2708, 605184, grid=(1, 2, 3), stream=0)
    buf2709 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2709]
    launch(kernel_709, buf2709, 605184, grid=(1, 2, 3), stream=0)
    buf2710 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2710]
    launch(kernel_710, buf2710, 605184, grid=(1, 2, 3), stream=0)
    buf2711 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2711]
    launch(kernel_711, buf2711, 605184, grid=(1, 2, 3), stream=0)
    buf2712 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2712]
    launch(kernel_712, buf2712, 605184, grid=(1, 2, 3), stream=0)
    buf2713 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2713]
    launch(kernel_713, buf2713, 605184, grid=(1, 2, 3), stream=0)
    buf2714 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2714]
    launch(kernel_714, buf2714, 605184, grid=(1, 2, 3), stream=0)
    buf2715 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2715]
    launch(kernel_715, buf2715, 605184, grid=(1, 2, 3), stream=0)
    buf2716 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2716]
    launch(kernel_716, buf2716, 605184, grid=(1, 2, 3), stream=0)
    buf2717 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2717]
    launch(kernel_717, buf2717, 605184, grid=(1, 2, 3), stream=0)
    buf2718 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2718]
    launch(kernel_718, buf2718, 605184, grid=(1, 2, 3), stream=0)
    buf2719 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2719]
    launch(kernel_719, buf2719, 605184, grid=(1, 2, 3), stream=0)
    buf2720 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2720]
    launch(kernel_720, buf2720, 605184, grid=(1, 2, 3), stream=0)
    buf2721 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2721]
    launch(kernel_721, buf2721, 605184, grid=(1, 2, 3), stream=0)
    buf2722 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2722]
    launch(kernel_722, buf2722, 605184, grid=(1, 2, 3), stream=0)
    buf2723 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2723]
    launch(kernel_723, buf2723, 605184, grid=(1, 2, 3), stream=0)
    buf2724 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2724]
    launch(kernel_724, buf2724, 605184, grid=(1, 2, 3), stream=0)
    buf2725 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2725]
    launch(kernel_725, buf2725, 605184, grid=(1, 2, 3), stream=0)
    buf2726 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2726]
    launch(kernel_726, buf2726, 605184, grid=(1, 2, 3), stream=0)
    buf2727 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2727]
    launch(kernel_727, buf2727, 605184, grid=(1, 2, 3), stream=0)
    buf2728 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2728]
    launch(kernel_728, buf2728, 605184, grid=(1, 2, 3), stream=0)
    buf2729 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2729]
    launch(kernel_729, buf2729, 605184, grid=(1, 2, 3), stream=0)
    buf2730 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2730]
    launch(kernel_730, buf2730, 605184, grid=(1, 2, 3), stream=0)
    buf2731 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2731]
    launch(kernel_731, buf2731, 605184, grid=(1, 2, 3), stream=0)
    buf2732 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2732]
    launch(kernel_732, buf2732, 605184, grid=(1, 2, 3), stream=0)
    buf2733 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2733]
    launch(kernel_733, buf2733, 605184, grid=(1, 2, 3), stream=0)
    buf2734 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2734]
    launch(kernel_734, buf2734, 605184, grid=(1, 2, 3), stream=0)
    buf2735 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2735]
    launch(kernel_735, buf2735, 605184, grid=(1, 2, 3), stream=0)
    buf2736 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2736]
    launch(kernel_736, buf2736, 605184, grid=(1, 2, 3), stream=0)
    buf2737 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2737]
    launch(kernel_737, buf2737, 605184, grid=(1, 2, 3), stream=0)
    buf2738 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2738]
    launch(kernel_738, buf2738, 605184, grid=(1, 2, 3), stream=0)
    buf2739 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2739]
    launch(kernel_739, buf2739, 605184, grid=(1, 2, 3), stream=0)
    buf2740 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2740]
    launch(kernel_740, buf2740, 605184, grid=(1, 2, 3), stream=0)
    buf2741 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2741]
    launch(kernel_741, buf2741, 605184, grid=(1, 2, 3), stream=0)
    buf2742 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2742]
    launch(kernel_742, buf2742, 605184, grid=(1, 2, 3), stream=0)
    buf2743 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2743]
    launch(kernel_743, buf2743, 605184, grid=(1, 2, 3), stream=0)
    buf2744 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2744]
    launch(kernel_744, buf2744, 605184, grid=(1, 2, 3), stream=0)
    buf2745 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2745]
    launch(kernel_745, buf2745, 605184, grid=(1, 2, 3), stream=0)
    buf2746 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2746]
    launch(kernel_746, buf2746, 605184, grid=(1, 2, 3), stream=0)
    buf2747 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2747]
    launch(kernel_747, buf2747, 605184, grid=(1, 2, 3), stream=0)
    buf2748 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2748]
    launch(kernel_748, buf2748, 605184, grid=(1, 2, 3), stream=0)
    buf2749 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2749]
    launch(kernel_749, buf2749, 605184, grid=(1, 2, 3), stream=0)
    buf2750 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2750]
    launch(kernel_750, buf2750, 605184, grid=(1, 2, 3), stream=0)
    buf2751 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2751]
    launch(kernel_751, buf2751, 605184, grid=(1, 2, 3), stream=0)
    buf2752 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2752]
    launch(kernel_752, buf2752, 605184, grid=(1, 2, 3), stream=0)
    buf2753 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2753]
    launch(kernel_753, buf2753, 605184, grid=(1, 2, 3), stream=0)
    buf2754 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2754]
    launch(kernel_754, buf2754, 605184, grid=(1, 2, 3), stream=0)
    buf2755 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2755]
    launch(kernel_755, buf2755, 605184, grid=(1, 2, 3), stream=0)
    buf2756 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2756]
    launch(kernel_756, buf2756, 605184, grid=(1, 2, 3), stream=0)
    buf2757 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2757]
    launch(kernel_757, buf2757, 605184, grid=(1, 2, 3), stream=0)
    buf2758 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2758]
    launch(kernel_758, buf2758, 605184, grid=(1, 2, 3), stream=0)
    buf2759 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2759]
    launch(kernel_759, buf2759, 605184, grid=(1, 2, 3), stream=0)
    buf2760 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2760]
    launch(kernel_760, buf2760, 605184, grid=(1, 2, 3), stream=0)
    buf2761 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2761]
    launch(kernel_761, buf2761, 605184, grid=(1, 2, 3), stream=0)
    buf2762 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2762]
    launch(kernel_762, buf2762, 605184, grid=(1, 2, 3), stream=0)
    buf2763 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2763]
    launch(kernel_763, buf2763, 605184, grid=(1, 2, 3), stream=0)
    buf2764 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2764]
    launch(kernel_764, buf2764, 605184, grid=(1, 2, 3), stream=0)
    buf2765 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2765]
    launch(kernel_765, buf2765, 605184, grid=(1, 2, 3), stream=0)
    buf2766 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2766]
    launch(kernel_766, buf2766, 605184, grid=(1, 2, 3), stream=0)
    buf2767 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2767]
    launch(kernel_767, buf2767, 605184, grid=(1, 2, 3), stream=0)
    buf2768 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2768]
    launch(kernel_768, buf2768, 605184, grid=(1, 2, 3), stream=0)
    buf2769 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2769]
    launch(kernel_769, buf2769, 605184, grid=(1, 2, 3), stream=0)
    buf2770 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2770]
    launch(kernel_770, buf2770, 605184, grid=(1, 2, 3), stream=0)
    buf2771 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2771]
    launch(kernel_771, buf2771, 605184, grid=(1, 2, 3), stream=0)
    buf2772 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2772]
    launch(kernel_772, buf2772, 605184, grid=(1, 2, 3), stream=0)
    buf2773 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2773]
    launch(kernel_773, buf2773, 605184, grid=(1, 2, 3), stream=0)
    buf2774 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2774]
    launch(kernel_774, buf2774, 605184, grid=(1, 2, 3), stream=0)
    buf2775 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2775]
    launch(kernel_775, buf2775, 605184, grid=(1, 2, 3), stream=0)
    buf2776 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2776]
    launch(kernel_776, buf2776, 605184, grid=(1, 2, 3), stream=0)
    buf2777 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2777]
    launch(kernel_777, buf2777, 605184, grid=(1, 2, 3), stream=0)
    buf2778 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2778]
    launch(kernel_778, buf2778, 605184, grid=(1, 2, 3), stream=0)
    buf2779 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2779]
    launch(kernel_779, buf2779, 605184, grid=(1, 2, 3), stream=0)
    buf2780 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2780]
    launch(kernel_780, buf2780, 605184, grid=(1, 2, 3), stream=0)
    buf2781 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2781]
    launch(kernel_781, buf2781, 605184, grid=(1, 2, 3), stream=0)
    buf2782 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2782]
    launch(kernel_782, buf2782, 605184, grid=(1, 2, 3), stream=0)
    buf2783 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2783]
    launch(kernel_783, buf2783, 605184, grid=(1, 2, 3), stream=0)
    buf2784 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2784]
    launch(kernel_784, buf2784, 605184, grid=(1, 2, 3), stream=0)
    buf2785 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2785]
    launch(kernel_785, buf2785, 605184, grid=(1, 2, 3), stream=0)
    buf2786 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2786]
    launch(kernel_786, buf2786, 605184, grid=(1, 2, 3), stream=0)
    buf2787 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2787]
    launch(kernel_787, buf2787, 605184, grid=(1, 2, 3), stream=0)
    buf2788 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2788]
    launch(kernel_788, buf2788, 605184, grid=(1, 2, 3), stream=0)
    buf2789 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2789]
    launch(kernel_789, buf2789, 605184, grid=(1, 2, 3), stream=0)
    buf2790 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2790]
    launch(kernel_790, buf2790, 605184, grid=(1, 2, 3), stream=0)
    buf2791 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2791]
    launch(kernel_791, buf2791, 605184, grid=(1, 2, 3), stream=0)
    buf2792 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2792]
    launch(kernel_792, buf2792, 605184, grid=(1, 2, 3), stream=0)
    buf2793 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2793]
    launch(kernel_793, buf2793, 605184, grid=(1, 2, 3), stream=0)
    buf2794 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2794]
    launch(kernel_794, buf2794, 605184, grid=(1, 2, 3), stream=0)
    buf2795 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2795]
    launch(kernel_795, buf2795, 605184, grid=(1, 2, 3), stream=0)
    buf2796 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2796]
    launch(kernel_796, buf2796, 605184, grid=(1, 2, 3), stream=0)
    buf2797 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2797]
    launch(kernel_797, buf2797, 605184, grid=(1, 2, 3), stream=0)
    buf2798 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2798]
    launch(kernel_798, buf2798, 605184, grid=(1, 2, 3), stream=0)
    buf2799 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2799]
    launch(kernel_799, buf2799, 605184, grid=(1, 2, 3), stream=0)
    buf2800 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2800]
    launch(kernel_800, buf2800, 605184, grid=(1, 2, 3), stream=0)
    buf2801 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2801]
    launch(kernel_801, buf2801, 605184, grid=(1, 2, 3), stream=0)
    buf2802 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2802]
    launch(kernel_802, buf2802, 605184, grid=(1, 2, 3), stream=0)
    buf2803 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2803]
    launch(kernel_803, buf2803, 605184, grid=(1, 2, 3), stream=0)
    buf2804 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2804]
    launch(kernel_804, buf2804, 605184, grid=(1, 2, 3), stream=0)
    buf2805 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2805]
    launch(kernel_805, buf2805, 605184, grid=(1, 2, 3), stream=0)
    buf2806 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2806]
    launch(kernel_806, buf2806, 605184, grid=(1, 2, 3), stream=0)
    buf2807 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2807]
    launch(kernel_807, buf2807, 605184, grid=(1, 2, 3), stream=0)
    buf2808 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2808]
    launch(kernel_808, buf2808, 605184, grid=(1, 2, 3), stream=0)
    buf2809 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2809]
    launch(kernel_809, buf2809, 605184, grid=(1, 2, 3), stream=0)
    buf2810 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2810]
    launch(kernel_810, buf2810, 605184, grid=(1, 2, 3), stream=0)
    buf2811 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2811]
    launch(kernel_811, buf2811, 605184, grid=(1, 2, 3), stream=0)
    buf2812 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2812]
    launch(kernel_812, buf2812, 605184, grid=(1, 2, 3), stream=0)
    buf2813 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2813]
    launch(kernel_813, buf2813, 605184, grid=(1, 2, 3), stream=0)
    buf2814 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2814]
    launch(kernel_814, buf2814, 605184, grid=(1, 2, 3), stream=0)
    buf2815 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2815]
    launch(kernel_815, buf2815, 605184, grid=(1, 2, 3), stream=0)
    buf2816 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2816]
    launch(kernel_816, buf2816, 605184, grid=(1, 2, 3), stream=0)
    buf2817 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2817]
    launch(kernel_817, buf2817, 605184, grid=(1, 2, 3), stream=0)
    buf2818 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2818]
    launch(kernel_818, buf2818, 605184, grid=(1, 2, 3), stream=0)
    buf2819 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2819]
    launch(kernel_819, buf2819, 605184, grid=(1, 2, 3), stream=0)
    buf2820 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2820]
    launch(kernel_820, buf2820, 605184, grid=(1, 2, 3), stream=0)
    buf2821 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2821]
    launch(kernel_821, buf2821, 605184, grid=(1, 2, 3), stream=0)
    buf2822 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2822]
    launch(kernel_822, buf2822, 605184, grid=(1, 2, 3), stream=0)
    buf2823 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2823]
    launch(kernel_823, buf2823, 605184, grid=(1, 2, 3), stream=0)
    buf2824 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2824]
    launch(kernel_824, buf2824, 605184, grid=(1, 2, 3), stream=0)
    buf2825 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2825]
    launch(kernel_825, buf2825, 605184, grid=(1, 2, 3), stream=0)
    buf2826 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2826]
    launch(kernel_826, buf2826, 605184, grid=(1, 2, 3), stream=0)
    buf2827 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2827]
    launch(kernel_827, buf2827, 605184, grid=(1, 2, 3), stream=0)
    buf2828 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2828]
    launch(kernel_828, buf2828, 605184, grid=(1, 2, 3), stream=0)
    buf2829 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2829]
    launch(kernel_829, buf2829, 605184, grid=(1, 2, 3), stream=0)
    buf2830 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2830]
    launch(kernel_830, buf2830, 605184, grid=(1, 2, 3), stream=0)
    buf2831 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2831]
    launch(kernel_831, buf2831, 605184, grid=(1, 2, 3), stream=0)
    buf2832 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2832]
    launch(kernel_832, buf2832, 605184, grid=(1, 2, 3), stream=0)
    buf2833 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2833]
    launch(kernel_833, buf2833, 605184, grid=(1, 2, 3), stream=0)
    buf2834 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2834]
    launch(kernel_834, buf2834, 605184, grid=(1, 2, 3), stream=0)
    buf2835 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2835]
    launch(kernel_835, buf2835, 605184, grid=(1, 2, 3), stream=0)
    buf2836 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2836]
    launch(kernel_836, buf2836, 605184, grid=(1, 2, 3), stream=0)
    buf2837 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2837]
    launch(kernel_837, buf2837, 605184, grid=(1, 2, 3), stream=0)
    buf2838 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2838]
    launch(kernel_838, buf2838, 605184, grid=(1, 2, 3), stream=0)
    buf2839 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2839]
    launch(kernel_839, buf2839, 605184, grid=(1, 2, 3), stream=0)
    buf2840 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2840]
    launch(kernel_840, buf2840, 605184, grid=(1, 2, 3), stream=0)
    buf2841 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2841]
    launch(kernel_841, buf2841, 605184, grid=(1, 2, 3), stream=0)
    buf2842 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2842]
    launch(kernel_842, buf2842, 605184, grid=(1, 2, 3), stream=0)
    buf2843 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2843]
    launch(kernel_843, buf2843, 605184, grid=(1, 2, 3), stream=0)
    buf2844 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2844]
    launch(kernel_844, buf2844, 605184, grid=(1, 2, 3), stream=0)
    buf2845 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2845]
    launch(kernel_845, buf2845, 605184, grid=(1, 2, 3), stream=0)
    buf2846 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2846]
    launch(kernel_846, buf2846, 605184, grid=(1, 2, 3), stream=0)
    buf2847 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2847]
    launch(kernel_847, buf2847, 605184, grid=(1, 2, 3), stream=0)
    buf2848 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2848]
    launch(kernel_848, buf2848, 605184, grid=(1, 2, 3), stream=0)
    buf2849 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2849]
    launch(kernel_849, buf2849, 605184, grid=(1, 2, 3), stream=0)
    buf2850 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2850]
    launch(kernel_850, buf2850, 605184, grid=(1, 2, 3), stream=0)
    buf2851 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2851]
    launch(kernel_851, buf2851, 605184, grid=(1, 2, 3), stream=0)
    buf2852 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2852]
    launch(kernel_852, buf2852, 605184, grid=(1, 2, 3), stream=0)
    buf2853 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2853]
    launch(kernel_853, buf2853, 605184, grid=(1, 2, 3), stream=0)
    buf2854 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2854]
    launch(kernel_854, buf2854, 605184, grid=(1, 2, 3), stream=0)
    buf2855 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2855]
    launch(kernel_855, buf2855, 605184, grid=(1, 2, 3), stream=0)
    buf2856 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2856]
    launch(kernel_856, buf2856, 605184, grid=(1, 2, 3), stream=0)
    buf2857 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2857]
    launch(kernel_857, buf2857, 605184, grid=(1, 2, 3), stream=0)
    buf2858 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2858]
    launch(kernel_858, buf2858, 605184, grid=(1, 2, 3), stream=0)
    buf2859 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2859]
    launch(kernel_859, buf2859, 605184, grid=(1, 2, 3), stream=0)
    buf2860 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2860]
    launch(kernel_860, buf2860, 605184, grid=(1, 2, 3), stream=0)
    buf2861 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2861]
    launch(kernel_861, buf2861, 605184, grid=(1, 2, 3), stream=0)
    buf2862 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2862]
    launch(kernel_862, buf2862, 605184, grid=(1, 2, 3), stream=0)
    buf2863 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2863]
    launch(kernel_863, buf2863, 605184, grid=(1, 2, 3), stream=0)
    buf2864 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2864]
    launch(kernel_864, buf2864, 605184, grid=(1, 2, 3), stream=0)
    buf2865 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2865]
    launch(kernel_865, buf2865, 605184, grid=(1, 2, 3), stream=0)
    buf2866 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2866]
    launch(kernel_866, buf2866, 605184, grid=(1, 2, 3), stream=0)
    buf2867 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2867]
    launch(kernel_867, buf2867, 605184, grid=(1, 2, 3), stream=0)
    buf2868 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2868]
    launch(kernel_868, buf2868, 605184, grid=(1, 2, 3), stream=0)
    buf2869 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2869]
    launch(kernel_869, buf2869, 605184, grid=(1, 2, 3), stream=0)
    buf2870 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2870]
    launch(kernel_870, buf2870, 605184, grid=(1, 2, 3), stream=0)
    buf2871 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2871]
    launch(kernel_871, buf2871, 605184, grid=(1, 2, 3), stream=0)
    buf2872 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2872]
    launch(kernel_872, buf2872, 605184, grid=(1, 2, 3), stream=0)
    buf2873 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2873]
    launch(kernel_873, buf2873, 605184, grid=(1, 2, 3), stream=0)
    buf2874 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2874]
    launch(kernel_874, buf2874, 605184, grid=(1, 2, 3), stream=0)
    buf2875 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2875]
    launch(kernel_875, buf2875, 605184, grid=(1, 2, 3), stream=0)
    buf2876 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2876]
    launch(kernel_876, buf2876, 605184, grid=(1, 2, 3), stream=0)
    buf2877 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2877]
    launch(kernel_877, buf2877, 605184, grid=(1, 2, 3), stream=0)
    buf2878 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2878]
    launch(kernel_878, buf2878, 605184, grid=(1, 2, 3), stream=0)
    buf2879 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2879]
    launch(kernel_879, buf2879, 605184, grid=(1, 2, 3), stream=0)
    buf2880 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2880]
    launch(kernel_880, buf2880, 605184, grid=(1, 2, 3), stream=0)
    buf2881 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2881]
    launch(kernel_881, buf2881, 605184, grid=(1, 2, 3), stream=0)
    buf2882 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2882]
    launch(kernel_882, buf2882, 605184, grid=(1, 2, 3), stream=0)
    buf2883 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2883]
    launch(kernel_883, buf2883, 605184, grid=(1, 2, 3), stream=0)
    buf2884 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2884]
    launch(kernel_884, buf2884, 605184, grid=(1, 2, 3), stream=0)
    buf2885 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2885]
    launch(kernel_885, buf2885, 605184, grid=(1, 2, 3), stream=0)
    buf2886 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2886]
    launch(kernel_886, buf2886, 605184, grid=(1, 2, 3), stream=0)
    buf2887 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2887]
    launch(kernel_887, buf2887, 605184, grid=(1, 2, 3), stream=0)
    buf2888 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2888]
    launch(kernel_888, buf2888, 605184, grid=(1, 2, 3), stream=0)
    buf2889 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2889]
    launch(kernel_889, buf2889, 605184, grid=(1, 2, 3), stream=0)
    buf2890 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2890]
    launch(kernel_890, buf2890, 605184, grid=(1, 2, 3), stream=0)
    buf2891 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2891]
    launch(kernel_891, buf2891, 605184, grid=(1, 2, 3), stream=0)
    buf2892 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2892]
    launch(kernel_892, buf2892, 605184, grid=(1, 2, 3), stream=0)
    buf2893 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2893]
    launch(kernel_893, buf2893, 605184, grid=(1, 2, 3), stream=0)
    buf2894 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2894]
    launch(kernel_894, buf2894, 605184, grid=(1, 2, 3), stream=0)
    buf2895 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2895]
    launch(kernel_895, buf2895, 605184, grid=(1, 2, 3), stream=0)
    buf2896 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2896]
    launch(kernel_896, buf2896, 605184, grid=(1, 2, 3), stream=0)
    buf2897 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2897]
    launch(kernel_897, buf2897, 605184, grid=(1, 2, 3), stream=0)
    buf2898 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2898]
    launch(kernel_898, buf2898, 605184, grid=(1, 2, 3), stream=0)
    buf2899 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2899]
    launch(kernel_899, buf2899, 605184, grid=(1, 2, 3), stream=0)
    buf2900 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2900]
    launch(kernel_900, buf2900, 605184, grid=(1, 2, 3), stream=0)
    buf2901 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2901]
    launch(kernel_901, buf2901, 605184, grid=(1, 2, 3), stream=0)
    buf2902 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2902]
    launch(kernel_902, buf2902, 605184, grid=(1, 2, 3), stream=0)
    buf2903 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2903]
    launch(kernel_903, buf2903, 605184, grid=(1, 2, 3), stream=0)
    buf2904 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2904]
    launch(kernel_904, buf2904, 605184, grid=(1, 2, 3), stream=0)
    buf2905 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2905]
    launch(kernel_905, buf2905, 605184, grid=(1, 2, 3), stream=0)
    buf2906 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2906]
    launch(kernel_906, buf2906, 605184, grid=(1, 2, 3), stream=0)
    buf2907 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2907]
    launch(kernel_907, buf2907, 605184, grid=(1, 2, 3), stream=0)
    buf2908 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2908]
    launch(kernel_908, buf2908, 605184, grid=(1, 2, 3), stream=0)
    buf2909 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2909]
    launch(kernel_909, buf2909, 605184, grid=(1, 2, 3), stream=0)
    buf2910 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2910]
    launch(kernel_910, buf2910, 605184, grid=(1, 2, 3), stream=0)
    buf2911 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2911]
    launch(kernel_911, buf2911, 605184, grid=(1, 2, 3), stream=0)
    buf2912 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2912]
    launch(kernel_912, buf2912, 605184, grid=(1, 2, 3), stream=0)
    buf2913 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2913]
    launch(kernel_913, buf2913, 605184, grid=(1, 2, 3), stream=0)
    buf2914 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2914]
    launch(kernel_914, buf2914, 605184, grid=(1, 2, 3), stream=0)
    buf2915 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2915]
    launch(kernel_915, buf2915, 605184, grid=(1, 2, 3), stream=0)
    buf2916 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2916]
    launch(kernel_916, buf2916, 605184, grid=(1, 2, 3), stream=0)
    buf2917 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2917]
    launch(kernel_917, buf2917, 605184, grid=(1, 2, 3), stream=0)
    buf2918 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2918]
    launch(kernel_918, buf2918, 605184, grid=(1, 2, 3), stream=0)
    buf2919 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2919]
    launch(kernel_919, buf2919, 605184, grid=(1, 2, 3), stream=0)
    buf2920 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2920]
    launch(kernel_920, buf2920, 605184, grid=(1, 2, 3), stream=0)
    buf2921 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2921]
    launch(kernel_921, buf2921, 605184, grid=(1, 2, 3), stream=0)
    buf2922 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2922]
    launch(kernel_922, buf2922, 605184, grid=(1, 2, 3), stream=0)
    buf2923 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2923]
    launch(kernel_923, buf2923, 605184, grid=(1, 2, 3), stream=0)
    buf2924 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2924]
    launch(kernel_924, buf2924, 605184, grid=(1, 2, 3), stream=0)
    buf2925 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2925]
    launch(kernel_925, buf2925, 605184, grid=(1, 2, 3), stream=0)
    buf2926 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2926]
    launch(kernel_926, buf2926, 605184, grid=(1, 2, 3), stream=0)
    buf2927 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2927]
    launch(kernel_927, buf2927, 605184, grid=(1, 2, 3), stream=0)
    buf2928 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2928]
    launch(kernel_928, buf2928, 605184, grid=(1, 2, 3), stream=0)
    buf2929 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2929]
    launch(kernel_929, buf2929, 605184, grid=(1, 2, 3), stream=0)
    buf2930 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2930]
    launch(kernel_930, buf2930, 605184, grid=(1, 2, 3), stream=0)
    buf2931 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2931]
    launch(kernel_931, buf2931, 605184, grid=(1, 2, 3), stream=0)
    buf2932 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2932]
    launch(kernel_932, buf2932, 605184, grid=(1, 2, 3), stream=0)
    buf2933 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2933]
    launch(kernel_933, buf2933, 605184, grid=(1, 2, 3), stream=0)
    buf2934 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2934]
    launch(kernel_934, buf2934, 605184, grid=(1, 2, 3), stream=0)
    buf2935 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2935]
    launch(kernel_935, buf2935, 605184, grid=(1, 2, 3), stream=0)
    buf2936 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2936]
    launch(kernel_936, buf2936, 605184, grid=(1, 2, 3), stream=0)
    buf2937 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2937]
    launch(kernel_937, buf2937, 605184, grid=(1, 2, 3), stream=0)
    buf2938 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2938]
    launch(kernel_938, buf2938, 605184, grid=(1, 2, 3), stream=0)
    buf2939 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2939]
    launch(kernel_939, buf2939, 605184, grid=(1, 2, 3), stream=0)
    buf2940 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2940]
    launch(kernel_940, buf2940, 605184, grid=(1, 2, 3), stream=0)
    buf2941 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2941]
    launch(kernel_941, buf2941, 605184, grid=(1, 2, 3), stream=0)
    buf2942 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2942]
    launch(kernel_942, buf2942, 605184, grid=(1, 2, 3), stream=0)
    buf2943 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2943]
    launch(kernel_943, buf2943, 605184, grid=(1, 2, 3), stream=0)
    buf2944 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2944]
    launch(kernel_944, buf2944, 605184, grid=(1, 2, 3), stream=0)
    buf2945 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2945]
    launch(kernel_945, buf2945, 605184, grid=(1, 2, 3), stream=0)
    buf2946 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2946]
    launch(kernel_946, buf2946, 605184, grid=(1, 2, 3), stream=0)
    buf2947 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2947]
    launch(kernel_947, buf2947, 605184, grid=(1, 2, 3), stream=0)
    buf2948 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2948]
    launch(kernel_948, buf2948, 605184, grid=(1, 2, 3), stream=0)
    buf2949 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2949]
    launch(kernel_949, buf2949, 605184, grid=(1, 2, 3), stream=0)
    buf2950 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2950]
    launch(kernel_950, buf2950, 605184, grid=(1, 2, 3), stream=0)
    buf2951 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2951]
    launch(kernel_951, buf2951, 605184, grid=(1, 2, 3), stream=0)
    buf2952 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2952]
    launch(kernel_952, buf2952, 605184, grid=(1, 2, 3), stream=0)
    buf2953 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2953]
    launch(kernel_953, buf2953, 605184, grid=(1, 2, 3), stream=0)
    buf2954 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2954]
    launch(kernel_954, buf2954, 605184, grid=(1, 2, 3), stream=0)
    buf2955 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2955]
    launch(kernel_955, buf2955, 605184, grid=(1, 2, 3), stream=0)
    buf2956 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2956]
    launch(kernel_956, buf2956, 605184, grid=(1, 2, 3), stream=0)
    buf2957 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2957]
    launch(kernel_957, buf2957, 605184, grid=(1, 2, 3), stream=0)
    buf2958 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2958]
    launch(kernel_958, buf2958, 605184, grid=(1, 2, 3), stream=0)
    buf2959 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2959]
    launch(kernel_959, buf2959, 605184, grid=(1, 2, 3), stream=0)
    buf2960 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2960]
    launch(kernel_960, buf2960, 605184, grid=(1, 2, 3), stream=0)
    buf2961 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2961]
    launch(kernel_961, buf2961, 605184, grid=(1, 2, 3), stream=0)
    buf2962 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2962]
    launch(kernel_962, buf2962, 605184, grid=(1, 2, 3), stream=0)
    buf2963 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2963]
    launch(kernel_963, buf2963, 605184, grid=(1, 2, 3), stream=0)
    buf2964 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2964]
    launch(kernel_964, buf2964, 605184, grid=(1, 2, 3), stream=0)
    buf2965 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2965]
    launch(kernel_965, buf2965, 605184, grid=(1, 2, 3), stream=0)
    buf2966 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2966]
    launch(kernel_966, buf2966, 605184, grid=(1, 2, 3), stream=0)
    buf2967 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2967]
    launch(kernel_967, buf2967, 605184, grid=(1, 2, 3), stream=0)
    buf2968 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2968]
    launch(kernel_968, buf2968, 605184, grid=(1, 2, 3), stream=0)
    buf2969 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2969]
    launch(kernel_969, buf2969, 605184, grid=(1, 2, 3), stream=0)
    buf2970 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2970]
    launch(kernel_970, buf2970, 605184, grid=(1, 2, 3), stream=0)
    buf2971 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2971]
    launch(kernel_971, buf2971, 605184, grid=(1, 2, 3), stream=0)
    buf2972 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2972]
    launch(kernel_972, buf2972, 605184, grid=(1, 2, 3), stream=0)
    buf2973 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2973]
    launch(kernel_973, buf2973, 605184, grid=(1, 2, 3), stream=0)
    buf2974 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2974]
    launch(kernel_974, buf2974, 605184, grid=(1, 2, 3), stream=0)
    buf2975 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2975]
    launch(kernel_975, buf2975, 605184, grid=(1, 2, 3), stream=0)
    buf2976 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2976]
    launch(kernel_976, buf2976, 605184, grid=(1, 2, 3), stream=0)
    buf2977 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2977]
    launch(kernel_977, buf2977, 605184, grid=(1, 2, 3), stream=0)
    buf2978 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2978]
    launch(kernel_978, buf2978, 605184, grid=(1, 2, 3), stream=0)
    buf2979 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2979]
    launch(kernel_979, buf2979, 605184, grid=(1, 2, 3), stream=0)
    buf2980 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2980]
    launch(kernel_980, buf2980, 605184, grid=(1, 2, 3), stream=0)
    buf2981 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2981]
    launch(kernel_981, buf2981, 605184, grid=(1, 2, 3), stream=0)
    buf2982 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2982]
    launch(kernel_982, buf2982, 605184, grid=(1, 2, 3), stream=0)
    buf2983 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2983]
    launch(kernel_983, buf2983, 605184, grid=(1, 2, 3), stream=0)
    buf2984 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2984]
    launch(kernel_984, buf2984, 605184, grid=(1, 2, 3), stream=0)
    buf2985 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2985]
    launch(kernel_985, buf2985, 605184, grid=(1, 2, 3), stream=0)
    buf2986 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2986]
    launch(kernel_986, buf2986, 605184, grid=(1, 2, 3), stream=0)
    buf2987 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2987]
    launch(kernel_987, buf2987, 605184, grid=(1, 2, 3), stream=0)
    buf2988 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2988]
    launch(kernel_988, buf2988, 605184, grid=(1, 2, 3), stream=0)
    buf2989 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2989]
    launch(kernel_989, buf2989, 605184, grid=(1, 2, 3), stream=0)
    buf2990 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2990]
    launch(kernel_990, buf2990, 605184, grid=(1, 2, 3), stream=0)
    buf2991 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2991]
    launch(kernel_991, buf2991, 605184, grid=(1, 2, 3), stream=0)
    buf2992 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2992]
    launch(kernel_992, buf2992, 605184, grid=(1, 2, 3), stream=0)
    buf2993 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2993]
    launch(kernel_993, buf2993, 605184, grid=(1, 2, 3), stream=0)
    buf2994 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2994]
    launch(kernel_994, buf2994, 605184, grid=(1, 2, 3), stream=0)
    buf2995 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2995]
    launch(kernel_995, buf2995, 605184, grid=(1, 2, 3), stream=0)
    buf2996 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2996]
    launch(kernel_996, buf2996, 605184, grid=(1, 2, 3), stream=0)
    buf2997 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2997]
    launch(kernel_997, buf2997, 605184, grid=(1, 2, 3), stream=0)
    buf2998 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2998]
    launch(kernel_998, buf2998, 605184, grid=(1, 2, 3), stream=0)
    buf2999 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_2999]
    launch(kernel_999, buf2999, 605184, grid=(1, 2, 3), stream=0)
    buf3000 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3000]
    launch(kernel_0, buf3000, 605184, grid=(1, 2, 3), stream=0)
    buf3001 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3001]
    launch(kernel_1, buf3001, 605184, grid=(1, 2, 3), stream=0)
    buf3002 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3002]
    launch(kernel_2, buf3002, 605184, grid=(1, 2, 3), stream=0)
    buf3003 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3003]
    launch(kernel_3, buf3003, 605184, grid=(1, 2, 3), stream=0)
    buf3004 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3004]
    launch(kernel_4, buf3004, 605184, grid=(1, 2, 3), stream=0)
    buf3005 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3005]
    launch(kernel_5, buf3005, 605184, grid=(1, 2, 3), stream=0)
    buf3006 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3006]
    launch(kernel_6, buf3006, 605184, grid=(1, 2, 3), stream=0)
    buf3007 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3007]
    launch(kernel_7, buf3007, 605184, grid=(1, 2, 3), stream=0)
    buf3008 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3008]
    launch(kernel_8, buf3008, 605184, grid=(1, 2, 3), stream=0)
    buf3009 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3009]
    launch(kernel_9, buf3009, 605184, grid=(1, 2, 3), stream=0)
    buf3010 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3010]
    launch(kernel_10, buf3010, 605184, grid=(1, 2, 3), stream=0)
    buf3011 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3011]
    launch(kernel_11, buf3011, 605184, grid=(1, 2, 3), stream=0)
    buf3012 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3012]
    launch(kernel_12, buf3012, 605184, grid=(1, 2, 3), stream=0)
    buf3013 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3013]
    launch(kernel_13, buf3013, 605184, grid=(1, 2, 3), stream=0)
    buf3014 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3014]
    launch(kernel_14, buf3014, 605184, grid=(1, 2, 3), stream=0)
    buf3015 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3015]
    launch(kernel_15, buf3015, 605184, grid=(1, 2, 3), stream=0)
    buf3016 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3016]
    launch(kernel_16, buf3016, 605184, grid=(1, 2, 3), stream=0)
    buf3017 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3017]
    launch(kernel_17, buf3017, 605184, grid=(1, 2, 3), stream=0)
    buf3018 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3018]
    launch(kernel_18, buf3018, 605184, grid=(1, 2, 3), stream=0)
    buf3019 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3019]
    launch(kernel_19, buf3019, 605184, grid=(1, 2, 3), stream=0)
    buf3020 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3020]
    launch(kernel_20, buf3020, 605184, grid=(1, 2, 3), stream=0)
    buf3021 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3021]
    launch(kernel_21, buf3021, 605184, grid=(1, 2, 3), stream=0)
    buf3022 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3022]
    launch(kernel_22, buf3022, 605184, grid=(1, 2, 3), stream=0)
    buf3023 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3023]
    launch(kernel_23, buf3023, 605184, grid=(1, 2, 3), stream=0)
    buf3024 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3024]
    launch(kernel_24, buf3024, 605184, grid=(1, 2, 3), stream=0)
    buf3025 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3025]
    launch(kernel_25, buf3025, 605184, grid=(1, 2, 3), stream=0)
    buf3026 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3026]
    launch(kernel_26, buf3026, 605184, grid=(1, 2, 3), stream=0)
    buf3027 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3027]
    launch(kernel_27, buf3027, 605184, grid=(1, 2, 3), stream=0)
    buf3028 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3028]
    launch(kernel_28, buf3028, 605184, grid=(1, 2, 3), stream=0)
    buf3029 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3029]
    launch(kernel_29, buf3029, 605184, grid=(1, 2, 3), stream=0)
    buf3030 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3030]
    launch(kernel_30, buf3030, 605184, grid=(1, 2, 3), stream=0)
    buf3031 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3031]
    launch(kernel_31, buf3031, 605184, grid=(1, 2, 3), stream=0)
    buf3032 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3032]
    launch(kernel_32, buf3032, 605184, grid=(1, 2, 3), stream=0)
    buf3033 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3033]
    launch(kernel_33, buf3033, 605184, grid=(1, 2, 3), stream=0)
    buf3034 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3034]
    launch(kernel_34, buf3034, 605184, grid=(1, 2, 3), stream=0)
    buf3035 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3035]
    launch(kernel_35, buf3035, 605184, grid=(1, 2, 3), stream=0)
    buf3036 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3036]
    launch(kernel_36, buf3036, 605184, grid=(1, 2, 3), stream=0)
    buf3037 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3037]
    launch(kernel_37, buf3037, 605184, grid=(1, 2, 3), stream=0)
    buf3038 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3038]
    launch(kernel_38, buf3038, 605184, grid=(1, 2, 3), stream=0)
    buf3039 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3039]
    launch(kernel_39, buf3039, 605184, grid=(1, 2, 3), stream=0)
    buf3040 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3040]
    launch(kernel_40, buf3040, 605184, grid=(1, 2, 3), stream=0)
    buf3041 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3041]
    launch(kernel_41, buf3041, 605184, grid=(1, 2, 3), stream=0)
    buf3042 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3042]
    launch(kernel_42, buf3042, 605184, grid=(1, 2, 3), stream=0)
    buf3043 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3043]
    launch(kernel_43, buf3043, 605184, grid=(1, 2, 3), stream=0)
    buf3044 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3044]
    launch(kernel_44, buf3044, 605184, grid=(1, 2, 3), stream=0)
    buf3045 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3045]
    launch(kernel_45, buf3045, 605184, grid=(1, 2, 3), stream=0)
    buf3046 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3046]
    launch(kernel_46, buf3046, 605184, grid=(1, 2, 3), stream=0)
    buf3047 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3047]
    launch(kernel_47, buf3047, 605184, grid=(1, 2, 3), stream=0)
    buf3048 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3048]
    launch(kernel_48, buf3048, 605184, grid=(1, 2, 3), stream=0)
    buf3049 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3049]
    launch(kernel_49, buf3049, 605184, grid=(1, 2, 3), stream=0)
    buf3050 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3050]
    launch(kernel_50, buf3050, 605184, grid=(1, 2, 3), stream=0)
    buf3051 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3051]
    launch(kernel_51, buf3051, 605184, grid=(1, 2, 3), stream=0)
    buf3052 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3052]
    launch(kernel_52, buf3052, 605184, grid=(1, 2, 3), stream=0)
    buf3053 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3053]
    launch(kernel_53, buf3053, 605184, grid=(1, 2, 3), stream=0)
    buf3054 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3054]
    launch(kernel_54, buf3054, 605184, grid=(1, 2, 3), stream=0)
    buf3055 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3055]
    launch(kernel_55, buf3055, 605184, grid=(1, 2, 3), stream=0)
    buf3056 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3056]
    launch(kernel_56, buf3056, 605184, grid=(1, 2, 3), stream=0)
    buf3057 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3057]
    launch(kernel_57, buf3057, 605184, grid=(1, 2, 3), stream=0)
    buf3058 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3058]
    launch(kernel_58, buf3058, 605184, grid=(1, 2, 3), stream=0)
    buf3059 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3059]
    launch(kernel_59, buf3059, 605184, grid=(1, 2, 3), stream=0)
    buf3060 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3060]
    launch(kernel_60, buf3060, 605184, grid=(1, 2, 3), stream=0)
    buf3061 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3061]
    launch(kernel_61, buf3061, 605184, grid=(1, 2, 3), stream=0)
    buf3062 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3062]
    launch(kernel_62, buf3062, 605184, grid=(1, 2, 3), stream=0)
    buf3063 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3063]
    launch(kernel_63, buf3063, 605184, grid=(1, 2, 3), stream=0)
    buf3064 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3064]
    launch(kernel_64, buf3064, 605184, grid=(1, 2, 3), stream=0)
    buf3065 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3065]
    launch(kernel_65, buf3065, 605184, grid=(1, 2, 3), stream=0)
    buf3066 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3066]
    launch(kernel_66, buf3066, 605184, grid=(1, 2, 3), stream=0)
    buf3067 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3067]
    launch(kernel_67, buf3067, 605184, grid=(1, 2, 3), stream=0)
    buf3068 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3068]
    launch(kernel_68, buf3068, 605184, grid=(1, 2, 3), stream=0)
    buf3069 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3069]
    launch(kernel_69, buf3069, 605184, grid=(1, 2, 3), stream=0)
    buf3070 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3070]
    launch(kernel_70, buf3070, 605184, grid=(1, 2, 3), stream=0)
    buf3071 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3071]
    launch(kernel_71, buf3071, 605184, grid=(1, 2, 3), stream=0)
    buf3072 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3072]
    launch(kernel_72, buf3072, 605184, grid=(1, 2, 3), stream=0)
    buf3073 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3073]
    launch(kernel_73, buf3073, 605184, grid=(1, 2, 3), stream=0)
    buf3074 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3074]
    launch(kernel_74, buf3074, 605184, grid=(1, 2, 3), stream=0)
    buf3075 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3075]
    launch(kernel_75, buf3075, 605184, grid=(1, 2, 3), stream=0)
    buf3076 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3076]
    launch(kernel_76, buf3076, 605184, grid=(1, 2, 3), stream=0)
    buf3077 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3077]
    launch(kernel_77, buf3077, 605184, grid=(1, 2, 3), stream=0)
    buf3078 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3078]
    launch(kernel_78, buf3078, 605184, grid=(1, 2, 3), stream=0)
    buf3079 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3079]
    launch(kernel_79, buf3079, 605184, grid=(1, 2, 3), stream=0)
    buf3080 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3080]
    launch(kernel_80, buf3080, 605184, grid=(1, 2, 3), stream=0)
    buf3081 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3081]
    launch(kernel_81, buf3081, 605184, grid=(1, 2, 3), stream=0)
    buf3082 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3082]
    launch(kernel_82, buf3082, 605184, grid=(1, 2, 3), stream=0)
    buf3083 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3083]
    launch(kernel_83, buf3083, 605184, grid=(1, 2, 3), stream=0)
    buf3084 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3084]
    launch(kernel_84, buf3084, 605184, grid=(1, 2, 3), stream=0)
    buf3085 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3085]
    launch(kernel_85, buf3085, 605184, grid=(1, 2, 3), stream=0)
    buf3086 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3086]
    launch(kernel_86, buf3086, 605184, grid=(1, 2, 3), stream=0)
    buf3087 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3087]
    launch(kernel_87, buf3087, 605184, grid=(1, 2, 3), stream=0)
    buf3088 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3088]
    launch(kernel_88, buf3088, 605184, grid=(1, 2, 3), stream=0)
    buf3089 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3089]
    launch(kernel_89, buf3089, 605184, grid=(1, 2, 3), stream=0)
    buf3090 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3090]
    launch(kernel_90, buf3090, 605184, grid=(1, 2, 3), stream=0)
    buf3091 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3091]
    launch(kernel_91, buf3091, 605184, grid=(1, 2, 3), stream=0)
    buf3092 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3092]
    launch(kernel_92, buf3092, 605184, grid=(1, 2, 3), stream=0)
    buf3093 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3093]
    launch(kernel_93, buf3093, 605184, grid=(1, 2, 3), stream=0)
    buf3094 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3094]
    launch(kernel_94, buf3094, 605184, grid=(1, 2, 3), stream=0)
    buf3095 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3095]
    launch(kernel_95, buf3095, 605184, grid=(1, 2, 3), stream=0)
    buf3096 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3096]
    launch(kernel_96, buf3096, 605184, grid=(1, 2, 3), stream=0)
    buf3097 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3097]
    launch(kernel_97, buf3097, 605184, grid=(1, 2, 3), stream=0)
    buf3098 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3098]
    launch(kernel_98, buf3098, 605184, grid=(1, 2, 3), stream=0)
    buf3099 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3099]
    launch(kernel_99, buf3099, 605184, grid=(1, 2, 3), stream=0)
    buf3100 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3100]
    launch(kernel_100, buf3100, 605184, grid=(1, 2, 3), stream=0)
    buf3101 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3101]
    launch(kernel_101, buf3101, 605184, grid=(1, 2, 3), stream=0)
    buf3102 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3102]
    launch(kernel_102, buf3102, 605184, grid=(1, 2, 3), stream=0)
    buf3103 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3103]
    launch(kernel_103, buf3103, 605184, grid=(1, 2, 3), stream=0)
    buf3104 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3104]
    launch(kernel_104, buf3104, 605184, grid=(1, 2, 3), stream=0)
    buf3105 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3105]
    launch(kernel_105, buf3105, 605184, grid=(1, 2, 3), stream=0)
    buf3106 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3106]
    launch(kernel_106, buf3106, 605184, grid=(1, 2, 3), stream=0)
    buf3107 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3107]
    launch(kernel_107, buf3107, 605184, grid=(1, 2, 3), stream=0)
    buf3108 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3108]
    launch(kernel_108, buf3108, 605184, grid=(1, 2, 3), stream=0)
    buf3109 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3109]
    launch(kernel_109, buf3109, 605184, grid=(1, 2, 3), stream=0)
    buf3110 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3110]
    launch(kernel_110, buf3110, 605184, grid=(1, 2, 3), stream=0)
    buf3111 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3111]
    launch(kernel_111, buf3111, 605184, grid=(1, 2, 3), stream=0)
    buf3112 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3112]
    launch(kernel_112, buf3112, 605184, grid=(1, 2, 3), stream=0)
    buf3113 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3113]
    launch(kernel_113, buf3113, 605184, grid=(1, 2, 3), stream=0)
    buf3114 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3114]
    launch(kernel_114, buf3114, 605184, grid=(1, 2, 3), stream=0)
    buf3115 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3115]
    launch(kernel_115, buf3115, 605184, grid=(1, 2, 3), stream=0)
    buf3116 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3116]
    launch(kernel_116, buf3116, 605184, grid=(1, 2, 3), stream=0)
    buf3117 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3117]
    launch(kernel_117, buf3117, 605184, grid=(1, 2, 3), stream=0)
    buf3118 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3118]
    launch(kernel_118, buf3118, 605184, grid=(1, 2, 3), stream=0)
    buf3119 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3119]
    launch(kernel_119, buf3119, 605184, grid=(1, 2, 3), stream=0)
    buf3120 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3120]
    launch(kernel_120, buf3120, 605184, grid=(1, 2, 3), stream=0)
    buf3121 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3121]
    launch(kernel_121, buf3121, 605184, grid=(1, 2, 3), stream=0)
    buf3122 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3122]
    launch(kernel_122, buf3122, 605184, grid=(1, 2, 3), stream=0)
    buf3123 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3123]
    launch(kernel_123, buf3123, 605184, grid=(1, 2, 3), stream=0)
    buf3124 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3124]
    launch(kernel_124, buf3124, 605184, grid=(1, 2, 3), stream=0)
    buf3125 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3125]
    launch(kernel_125, buf3125, 605184, grid=(1, 2, 3), stream=0)
    buf3126 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3126]
    launch(kernel_126, buf3126, 605184, grid=(1, 2, 3), stream=0)
    buf3127 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3127]
    launch(kernel_127, buf3127, 605184, grid=(1, 2, 3), stream=0)
    buf3128 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3128]
    launch(kernel_128, buf3128, 605184, grid=(1, 2, 3), stream=0)
    buf3129 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3129]
    launch(kernel_129, buf3129, 605184, grid=(1, 2, 3), stream=0)
    buf3130 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3130]
    launch(kernel_130, buf3130, 605184, grid=(1, 2, 3), stream=0)
    buf3131 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3131]
    launch(kernel_131, buf3131, 605184, grid=(1, 2, 3), stream=0)
    buf3132 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3132]
    launch(kernel_132, buf3132, 605184, grid=(1, 2, 3), stream=0)
    buf3133 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3133]
    launch(kernel_133, buf3133, 605184, grid=(1, 2, 3), stream=0)
    buf3134 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3134]
    launch(kernel_134, buf3134, 605184, grid=(1, 2, 3), stream=0)
    buf3135 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3135]
    launch(kernel_135, buf3135, 605184, grid=(1, 2, 3), stream=0)
    buf3136 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3136]
    launch(kernel_136, buf3136, 605184, grid=(1, 2, 3), stream=0)
    buf3137 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3137]
    launch(kernel_137, buf3137, 605184, grid=(1, 2, 3), stream=0)
    buf3138 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3138]
    launch(kernel_138, buf3138, 605184, grid=(1, 2, 3), stream=0)
    buf3139 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3139]
    launch(kernel_139, buf3139, 605184, grid=(1, 2, 3), stream=0)
    buf3140 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3140]
    launch(kernel_140, buf3140, 605184, grid=(1, 2, 3), stream=0)
    buf3141 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3141]
    launch(kernel_141, buf3141, 605184, grid=(1, 2, 3), stream=0)
    buf3142 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3142]
    launch(kernel_142, buf3142, 605184, grid=(1, 2, 3), stream=0)
    buf3143 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3143]
    launch(kernel_143, buf3143, 605184, grid=(1, 2, 3), stream=0)
    buf3144 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3144]
    launch(kernel_144, buf3144, 605184, grid=(1, 2, 3), stream=0)
    buf3145 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3145]
    launch(kernel_145, buf3145, 605184, grid=(1, 2, 3), stream=0)
    buf3146 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3146]
    launch(kernel_146, buf3146, 605184, grid=(1, 2, 3), stream=0)
    buf3147 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3147]
    launch(kernel_147, buf3147, 605184, grid=(1, 2, 3), stream=0)
    buf3148 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3148]
    launch(kernel_148, buf3148, 605184, grid=(1, 2, 3), stream=0)
    buf3149 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3149]
    launch(kernel_149, buf3149, 605184, grid=(1, 2, 3), stream=0)
    buf3150 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3150]
    launch(kernel_150, buf3150, 605184, grid=(1, 2, 3), stream=0)
    buf3151 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3151]
    launch(kernel_151, buf3151, 605184, grid=(1, 2, 3), stream=0)
    buf3152 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3152]
    launch(kernel_152, buf3152, 605184, grid=(1, 2, 3), stream=0)
    buf3153 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3153]
    launch(kernel_153, buf3153, 605184, grid=(1, 2, 3), stream=0)
    buf3154 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3154]
    launch(kernel_154, buf3154, 605184, grid=(1, 2, 3), stream=0)
    buf3155 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3155]
    launch(kernel_155, buf3155, 605184, grid=(1, 2, 3), stream=0)
    buf3156 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3156]
    launch(kernel_156, buf3156, 605184, grid=(1, 2, 3), stream=0)
    buf3157 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3157]
    launch(kernel_157, buf3157, 605184, grid=(1, 2, 3), stream=0)
    buf3158 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3158]
    launch(kernel_158, buf3158, 605184, grid=(1, 2, 3), stream=0)
    buf3159 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3159]
    launch(kernel_159, buf3159, 605184, grid=(1, 2, 3), stream=0)
    buf3160 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3160]
    launch(kernel_160, buf3160, 605184, grid=(1, 2, 3), stream=0)
    buf3161 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3161]
    launch(kernel_161, buf3161, 605184, grid=(1, 2, 3), stream=0)
    buf3162 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3162]
    launch(kernel_162, buf3162, 605184, grid=(1, 2, 3), stream=0)
    buf3163 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3163]
    launch(kernel_163, buf3163, 605184, grid=(1, 2, 3), stream=0)
    buf3164 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3164]
    launch(kernel_164, buf3164, 605184, grid=(1, 2, 3), stream=0)
    buf3165 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3165]
    launch(kernel_165, buf3165, 605184, grid=(1, 2, 3), stream=0)
    buf3166 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3166]
    launch(kernel_166, buf3166, 605184, grid=(1, 2, 3), stream=0)
    buf3167 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3167]
    launch(kernel_167, buf3167, 605184, grid=(1, 2, 3), stream=0)
    buf3168 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3168]
    launch(kernel_168, buf3168, 605184, grid=(1, 2, 3), stream=0)
    buf3169 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3169]
    launch(kernel_169, buf3169, 605184, grid=(1, 2, 3), stream=0)
    buf3170 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3170]
    launch(kernel_170, buf3170, 605184, grid=(1, 2, 3), stream=0)
    buf3171 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3171]
    launch(kernel_171, buf3171, 605184, grid=(1, 2, 3), stream=0)
    buf3172 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3172]
    launch(kernel_172, buf3172, 605184, grid=(1, 2, 3), stream=0)
    buf3173 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3173]
    launch(kernel_173, buf3173, 605184, grid=(1, 2, 3), stream=0)
    buf3174 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3174]
    launch(kernel_174, buf3174, 605184, grid=(1, 2, 3), stream=0)
    buf3175 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3175]
    launch(kernel_175, buf3175, 605184, grid=(1, 2, 3), stream=0)
    buf3176 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3176]
    launch(kernel_176, buf3176, 605184, grid=(1, 2, 3), stream=0)
    buf3177 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3177]
    launch(kernel_177, buf3177, 605184, grid=(1, 2, 3), stream=0)
    buf3178 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3178]
    launch(kernel_178, buf3178, 605184, grid=(1, 2, 3), stream=0)
    buf3179 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3179]
    launch(kernel_179, buf3179, 605184, grid=(1, 2, 3), stream=0)
    buf3180 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3180]
    launch(kernel_180, buf3180, 605184, grid=(1, 2, 3), stream=0)
    buf3181 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3181]
    launch(kernel_181, buf3181, 605184, grid=(1, 2, 3), stream=0)
    buf3182 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3182]
    launch(kernel_182, buf3182, 605184, grid=(1, 2, 3), stream=0)
    buf3183 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3183]
    launch(kernel_183, buf3183, 605184, grid=(1, 2, 3), stream=0)
    buf3184 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3184]
    launch(kernel_184, buf3184, 605184, grid=(1, 2, 3), stream=0)
    buf3185 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3185]
    launch(kernel_185, buf3185, 605184, grid=(1, 2, 3), stream=0)
    buf3186 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3186]
    launch(kernel_186, buf3186, 605184, grid=(1, 2, 3), stream=0)
    buf3187 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3187]
    launch(kernel_187, buf3187, 605184, grid=(1, 2, 3), stream=0)
    buf3188 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3188]
    launch(kernel_188, buf3188, 605184, grid=(1, 2, 3), stream=0)
    buf3189 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3189]
    launch(kernel_189, buf3189, 605184, grid=(1, 2, 3), stream=0)
    buf3190 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3190]
    launch(kernel_190, buf3190, 605184, grid=(1, 2, 3), stream=0)
    buf3191 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3191]
    launch(kernel_191, buf3191, 605184, grid=(1, 2, 3), stream=0)
    buf3192 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3192]
    launch(kernel_192, buf3192, 605184, grid=(1, 2, 3), stream=0)
    buf3193 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3193]
    launch(kernel_193, buf3193, 605184, grid=(1, 2, 3), stream=0)
    buf3194 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3194]
    launch(kernel_194, buf3194, 605184, grid=(1, 2, 3), stream=0)
    buf3195 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3195]
    launch(kernel_195, buf3195, 605184, grid=(1, 2, 3), stream=0)
    buf3196 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3196]
    launch(kernel_196, buf3196, 605184, grid=(1, 2, 3), stream=0)
    buf3197 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3197]
    launch(kernel_197, buf3197, 605184, grid=(1, 2, 3), stream=0)
    buf3198 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3198]
    launch(kernel_198, buf3198, 605184, grid=(1, 2, 3), stream=0)
    buf3199 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3199]
    launch(kernel_199, buf3199, 605184, grid=(1, 2, 3), stream=0)
    buf3200 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3200]
    launch(kernel_200, buf3200, 605184, grid=(1, 2, 3), stream=0)
    buf3201 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3201]
    launch(kernel_201, buf3201, 605184, grid=(1, 2, 3), stream=0)
    buf3202 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3202]
    launch(kernel_202, buf3202, 605184, grid=(1, 2, 3), stream=0)
    buf3203 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3203]
    launch(kernel_203, buf3203, 605184, grid=(1, 2, 3), stream=0)
    buf3204 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3204]
    launch(kernel_204, buf3204, 605184, grid=(1, 2, 3), stream=0)
    buf3205 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3205]
    launch(kernel_205, buf3205, 605184, grid=(1, 2, 3), stream=0)
    buf3206 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3206]
    launch(kernel_206, buf3206, 605184, grid=(1, 2, 3), stream=0)
    buf3207 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3207]
    launch(kernel_207, buf3207, 605184, grid=(1, 2, 3), stream=0)
    buf3208 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3208]
    launch(kernel_208, buf3208, 605184, grid=(1, 2, 3), stream=0)
    buf3209 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3209]
    launch(kernel_209, buf3209, 605184, grid=(1, 2, 3), stream=0)
    buf3210 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3210]
    launch(kernel_210, buf3210, 605184, grid=(1, 2, 3), stream=0)
    buf3211 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3211]
    launch(kernel_211, buf3211, 605184, grid=(1, 2, 3), stream=0)
    buf3212 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3212]
    launch(kernel_212, buf3212, 605184, grid=(1, 2, 3), stream=0)
    buf3213 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3213]
    launch(kernel_213, buf3213, 605184, grid=(1, 2, 3), stream=0)
    buf3214 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3214]
    launch(kernel_214, buf3214, 605184, grid=(1, 2, 3), stream=0)
    buf3215 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3215]
    launch(kernel_215, buf3215, 605184, grid=(1, 2, 3), stream=0)
    buf3216 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3216]
    launch(kernel_216, buf3216, 605184, grid=(1, 2, 3), stream=0)
    buf3217 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3217]
    launch(kernel_217, buf3217, 605184, grid=(1, 2, 3), stream=0)
    buf3218 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3218]
    launch(kernel_218, buf3218, 605184, grid=(1, 2, 3), stream=0)
    buf3219 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3219]
    launch(kernel_219, buf3219, 605184, grid=(1, 2, 3), stream=0)
    buf3220 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3220]
    launch(kernel_220, buf3220, 605184, grid=(1, 2, 3), stream=0)
    buf3221 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3221]
    launch(kernel_221, buf3221, 605184, grid=(1, 2, 3), stream=0)
    buf3222 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3222]
    launch(kernel_222, buf3222, 605184, grid=(1, 2, 3), stream=0)
    buf3223 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3223]
    launch(kernel_223, buf3223, 605184, grid=(1, 2, 3), stream=0)
    buf3224 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3224]
    launch(kernel_224, buf3224, 605184, grid=(1, 2, 3), stream=0)
    buf3225 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3225]
    launch(kernel_225, buf3225, 605184, grid=(1, 2, 3), stream=0)
    buf3226 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3226]
    launch(kernel_226, buf3226, 605184, grid=(1, 2, 3), stream=0)
    buf3227 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3227]
    launch(kernel_227, buf3227, 605184, grid=(1, 2, 3), stream=0)
    buf3228 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3228]
    launch(kernel_228, buf3228, 605184, grid=(1, 2, 3), stream=0)
    buf3229 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3229]
    launch(kernel_229, buf3229, 605184, grid=(1, 2, 3), stream=0)
    buf3230 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3230]
    launch(kernel_230, buf3230, 605184, grid=(1, 2, 3), stream=0)
    buf3231 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3231]
    launch(kernel_231, buf3231, 605184, grid=(1, 2, 3), stream=0)
    buf3232 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3232]
    launch(kernel_232, buf3232, 605184, grid=(1, 2, 3), stream=0)
    buf3233 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3233]
    launch(kernel_233, buf3233, 605184, grid=(1, 2, 3), stream=0)
    buf3234 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3234]
    launch(kernel_234, buf3234, 605184, grid=(1, 2, 3), stream=0)
    buf3235 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3235]
    launch(kernel_235, buf3235, 605184, grid=(1, 2, 3), stream=0)
    buf3236 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3236]
    launch(kernel_236, buf3236, 605184, grid=(1, 2, 3), stream=0)
    buf3237 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3237]
    launch(kernel_237, buf3237, 605184, grid=(1, 2, 3), stream=0)
    buf3238 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3238]
    launch(kernel_238, buf3238, 605184, grid=(1, 2, 3), stream=0)
    buf3239 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3239]
    launch(kernel_239, buf3239, 605184, grid=(1, 2, 3), stream=0)
    buf3240 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3240]
    launch(kernel_240, buf3240, 605184, grid=(1, 2, 3), stream=0)
    buf3241 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3241]
    launch(kernel_241, buf3241, 605184, grid=(1, 2, 3), stream=0)
    buf3242 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3242]
    launch(kernel_242, buf3242, 605184, grid=(1, 2, 3), stream=0)
    buf3243 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3243]
    launch(kernel_243, buf3243, 605184, grid=(1, 2, 3), stream=0)
    buf3244 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3244]
    launch(kernel_244, buf3244, 605184, grid=(1, 2, 3), stream=0)
    buf3245 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3245]
    launch(kernel_245, buf3245, 605184, grid=(1, 2, 3), stream=0)
    buf3246 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3246]
    launch(kernel_246, buf3246, 605184, grid=(1, 2, 3), stream=0)
    buf3247 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3247]
    launch(kernel_247, buf3247, 605184, grid=(1, 2, 3), stream=0)
    buf3248 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3248]
    launch(kernel_248, buf3248, 605184, grid=(1, 2, 3), stream=0)
    buf3249 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3249]
    launch(kernel_249, buf3249, 605184, grid=(1, 2, 3), stream=0)
    buf3250 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3250]
    launch(kernel_250, buf3250, 605184, grid=(1, 2, 3), stream=0)
    buf3251 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3251]
    launch(kernel_251, buf3251, 605184, grid=(1, 2, 3), stream=0)
    buf3252 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3252]
    launch(kernel_252, buf3252, 605184, grid=(1, 2, 3), stream=0)
    buf3253 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3253]
    launch(kernel_253, buf3253, 605184, grid=(1, 2, 3), stream=0)
    buf3254 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3254]
    launch(kernel_254, buf3254, 605184, grid=(1, 2, 3), stream=0)
    buf3255 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3255]
    launch(kernel_255, buf3255, 605184, grid=(1, 2, 3), stream=0)
    buf3256 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3256]
    launch(kernel_256, buf3256, 605184, grid=(1, 2, 3), stream=0)
    buf3257 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3257]
    launch(kernel_257, buf3257, 605184, grid=(1, 2, 3), stream=0)
    buf3258 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3258]
    launch(kernel_258, buf3258, 605184, grid=(1, 2, 3), stream=0)
    buf3259 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3259]
    launch(kernel_259, buf3259, 605184, grid=(1, 2, 3), stream=0)
    buf3260 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3260]
    launch(kernel_260, buf3260, 605184, grid=(1, 2, 3), stream=0)
    buf3261 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3261]
    launch(kernel_261, buf3261, 605184, grid=(1, 2, 3), stream=0)
    buf3262 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3262]
    launch(kernel_262, buf3262, 605184, grid=(1, 2, 3), stream=0)
    buf3263 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3263]
    launch(kernel_263, buf3263, 605184, grid=(1, 2, 3), stream=0)
    buf3264 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3264]
    launch(kernel_264, buf3264, 605184, grid=(1, 2, 3), stream=0)
    buf3265 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3265]
    launch(kernel_265, buf3265, 605184, grid=(1, 2, 3), stream=0)
    buf3266 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3266]
    launch(kernel_266, buf3266, 605184, grid=(1, 2, 3), stream=0)
    buf3267 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3267]
    launch(kernel_267, buf3267, 605184, grid=(1, 2, 3), stream=0)
    buf3268 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3268]
    launch(kernel_268, buf3268, 605184, grid=(1, 2, 3), stream=0)
    buf3269 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3269]
    launch(kernel_269, buf3269, 605184, grid=(1, 2, 3), stream=0)
    buf3270 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3270]
    launch(kernel_270, buf3270, 605184, grid=(1, 2, 3), stream=0)
    buf3271 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3271]
    launch(kernel_271, buf3271, 605184, grid=(1, 2, 3), stream=0)
    buf3272 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3272]
    launch(kernel_272, buf3272, 605184, grid=(1, 2, 3), stream=0)
    buf3273 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3273]
    launch(kernel_273, buf3273, 605184, grid=(1, 2, 3), stream=0)
    buf3274 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3274]
    launch(kernel_274, buf3274, 605184, grid=(1, 2, 3), stream=0)
    buf3275 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3275]
    launch(kernel_275, buf3275, 605184, grid=(1, 2, 3), stream=0)
    buf3276 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3276]
    launch(kernel_276, buf3276, 605184, grid=(1, 2, 3), stream=0)
    buf3277 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3277]
    launch(kernel_277, buf3277, 605184, grid=(1, 2, 3), stream=0)
    buf3278 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3278]
    launch(kernel_278, buf3278, 605184, grid=(1, 2, 3), stream=0)
    buf3279 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3279]
    launch(kernel_279, buf3279, 605184, grid=(1, 2, 3), stream=0)
    buf3280 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3280]
    launch(kernel_280, buf3280, 605184, grid=(1, 2, 3), stream=0)
    buf3281 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3281]
    launch(kernel_281, buf3281, 605184, grid=(1, 2, 3), stream=0)
    buf3282 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3282]
    launch(kernel_282, buf3282, 605184, grid=(1, 2, 3), stream=0)
    buf3283 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3283]
    launch(kernel_283, buf3283, 605184, grid=(1, 2, 3), stream=0)
    buf3284 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3284]
    launch(kernel_284, buf3284, 605184, grid=(1, 2, 3), stream=0)
    buf3285 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3285]
    launch(kernel_285, buf3285, 605184, grid=(1, 2, 3), stream=0)
    buf3286 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3286]
    launch(kernel_286, buf3286, 605184, grid=(1, 2, 3), stream=0)
    buf3287 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3287]
    launch(kernel_287, buf3287, 605184, grid=(1, 2, 3), stream=0)
    buf3288 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3288]
    launch(kernel_288, buf3288, 605184, grid=(1, 2, 3), stream=0)
    buf3289 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3289]
    launch(kernel_289, buf3289, 605184, grid=(1, 2, 3), stream=0)
    buf3290 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3290]
    launch(kernel_290, buf3290, 605184, grid=(1, 2, 3), stream=0)
    buf3291 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3291]
    launch(kernel_291, buf3291, 605184, grid=(1, 2, 3), stream=0)
    buf3292 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3292]
    launch(kernel_292, buf3292, 605184, grid=(1, 2, 3), stream=0)
    buf3293 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3293]
    launch(kernel_293, buf3293, 605184, grid=(1, 2, 3), stream=0)
    buf3294 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3294]
    launch(kernel_294, buf3294, 605184, grid=(1, 2, 3), stream=0)
    buf3295 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3295]
    launch(kernel_295, buf3295, 605184, grid=(1, 2, 3), stream=0)
    buf3296 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3296]
    launch(kernel_296, buf3296, 605184, grid=(1, 2, 3), stream=0)
    buf3297 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3297]
    launch(kernel_297, buf3297, 605184, grid=(1, 2, 3), stream=0)
    buf3298 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3298]
    launch(kernel_298, buf3298, 605184, grid=(1, 2, 3), stream=0)
    buf3299 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3299]
    launch(kernel_299, buf3299, 605184, grid=(1, 2, 3), stream=0)
    buf3300 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3300]
    launch(kernel_300, buf3300, 605184, grid=(1, 2, 3), stream=0)
    buf3301 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3301]
    launch(kernel_301, buf3301, 605184, grid=(1, 2, 3), stream=0)
    buf3302 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3302]
    launch(kernel_302, buf3302, 605184, grid=(1, 2, 3), stream=0)
    buf3303 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3303]
    launch(kernel_303, buf3303, 605184, grid=(1, 2, 3), stream=0)
    buf3304 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3304]
    launch(kernel_304, buf3304, 605184, grid=(1, 2, 3), stream=0)
    buf3305 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3305]
    launch(kernel_305, buf3305, 605184, grid=(1, 2, 3), stream=0)
    buf3306 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3306]
    launch(kernel_306, buf3306, 605184, grid=(1, 2, 3), stream=0)
    buf3307 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3307]
    launch(kernel_307, buf3307, 605184, grid=(1, 2, 3), stream=0)
    buf3308 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3308]
    launch(kernel_308, buf3308, 605184, grid=(1, 2, 3), stream=0)
    buf3309 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3309]
    launch(kernel_309, buf3309, 605184, grid=(1, 2, 3), stream=0)
    buf3310 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3310]
    launch(kernel_310, buf3310, 605184, grid=(1, 2, 3), stream=0)
    buf3311 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3311]
    launch(kernel_311, buf3311, 605184, grid=(1, 2, 3), stream=0)
    buf3312 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3312]
    launch(kernel_312, buf3312, 605184, grid=(1, 2, 3), stream=0)
    buf3313 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3313]
    launch(kernel_313, buf3313, 605184, grid=(1, 2, 3), stream=0)
    buf3314 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3314]
    launch(kernel_314, buf3314, 605184, grid=(1, 2, 3), stream=0)
    buf3315 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3315]
    launch(kernel_315, buf3315, 605184, grid=(1, 2, 3), stream=0)
    buf3316 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3316]
    launch(kernel_316, buf3316, 605184, grid=(1, 2, 3), stream=0)
    buf3317 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3317]
    launch(kernel_317, buf3317, 605184, grid=(1, 2, 3), stream=0)
    buf3318 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3318]
    launch(kernel_318, buf3318, 605184, grid=(1, 2, 3), stream=0)
    buf3319 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3319]
    launch(kernel_319, buf3319, 605184, grid=(1, 2, 3), stream=0)
    buf3320 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3320]
    launch(kernel_320, buf3320, 605184, grid=(1, 2, 3), stream=0)
    buf3321 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3321]
    launch(kernel_321, buf3321, 605184, grid=(1, 2, 3), stream=0)
    buf3322 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3322]
    launch(kernel_322, buf3322, 605184, grid=(1, 2, 3), stream=0)
    buf3323 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3323]
    launch(kernel_323, buf3323, 605184, grid=(1, 2, 3), stream=0)
    buf3324 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3324]
    launch(kernel_324, buf3324, 605184, grid=(1, 2, 3), stream=0)
    buf3325 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3325]
    launch(kernel_325, buf3325, 605184, grid=(1, 2, 3), stream=0)
    buf3326 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3326]
    launch(kernel_326, buf3326, 605184, grid=(1, 2, 3), stream=0)
    buf3327 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3327]
    launch(kernel_327, buf3327, 605184, grid=(1, 2, 3), stream=0)
    buf3328 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3328]
    launch(kernel_328, buf3328, 605184, grid=(1, 2, 3), stream=0)
    buf3329 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3329]
    launch(kernel_329, buf3329, 605184, grid=(1, 2, 3), stream=0)
    buf3330 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3330]
    launch(kernel_330, buf3330, 605184, grid=(1, 2, 3), stream=0)
    buf3331 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3331]
    launch(kernel_331, buf3331, 605184, grid=(1, 2, 3), stream=0)
    buf3332 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3332]
    launch(kernel_332, buf3332, 605184, grid=(1, 2, 3), stream=0)
    buf3333 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3333]
    launch(kernel_333, buf3333, 605184, grid=(1, 2, 3), stream=0)
    buf3334 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3334]
    launch(kernel_334, buf3334, 605184, grid=(1, 2, 3), stream=0)
    buf3335 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3335]
    launch(kernel_335, buf3335, 605184, grid=(1, 2, 3), stream=0)
    buf3336 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3336]
    launch(kernel_336, buf3336, 605184, grid=(1, 2, 3), stream=0)
    buf3337 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3337]
    launch(kernel_337, buf3337, 605184, grid=(1, 2, 3), stream=0)
    buf3338 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3338]
    launch(kernel_338, buf3338, 605184, grid=(1, 2, 3), stream=0)
    buf3339 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3339]
    launch(kernel_339, buf3339, 605184, grid=(1, 2, 3), stream=0)
    buf3340 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3340]
    launch(kernel_340, buf3340, 605184, grid=(1, 2, 3), stream=0)
    buf3341 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3341]
    launch(kernel_341, buf3341, 605184, grid=(1, 2, 3), stream=0)
    buf3342 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3342]
    launch(kernel_342, buf3342, 605184, grid=(1, 2, 3), stream=0)
    buf3343 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3343]
    launch(kernel_343, buf3343, 605184, grid=(1, 2, 3), stream=0)
    buf3344 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3344]
    launch(kernel_344, buf3344, 605184, grid=(1, 2, 3), stream=0)
    buf3345 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3345]
    launch(kernel_345, buf3345, 605184, grid=(1, 2, 3), stream=0)
    buf3346 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3346]
    launch(kernel_346, buf3346, 605184, grid=(1, 2, 3), stream=0)
    buf3347 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3347]
    launch(kernel_347, buf3347, 605184, grid=(1, 2, 3), stream=0)
    buf3348 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3348]
    launch(kernel_348, buf3348, 605184, grid=(1, 2, 3), stream=0)
    buf3349 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3349]
    launch(kernel_349, buf3349, 605184, grid=(1, 2, 3), stream=0)
    buf3350 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3350]
    launch(kernel_350, buf3350, 605184, grid=(1, 2, 3), stream=0)
    buf3351 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3351]
    launch(kernel_351, buf3351, 605184, grid=(1, 2, 3), stream=0)
    buf3352 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3352]
    launch(kernel_352, buf3352, 605184, grid=(1, 2, 3), stream=0)
    buf3353 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3353]
    launch(kernel_353, buf3353, 605184, grid=(1, 2, 3), stream=0)
    buf3354 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3354]
    launch(kernel_354, buf3354, 605184, grid=(1, 2, 3), stream=0)
    buf3355 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3355]
    launch(kernel_355, buf3355, 605184, grid=(1, 2, 3), stream=0)
    buf3356 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3356]
    launch(kernel_356, buf3356, 605184, grid=(1, 2, 3), stream=0)
    buf3357 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3357]
    launch(kernel_357, buf3357, 605184, grid=(1, 2, 3), stream=0)
    buf3358 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3358]
    launch(kernel_358, buf3358, 605184, grid=(1, 2, 3), stream=0)
    buf3359 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3359]
    launch(kernel_359, buf3359, 605184, grid=(1, 2, 3), stream=0)
    buf3360 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3360]
    launch(kernel_360, buf3360, 605184, grid=(1, 2, 3), stream=0)
    buf3361 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3361]
    launch(kernel_361, buf3361, 605184, grid=(1, 2, 3), stream=0)
    buf3362 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3362]
    launch(kernel_362, buf3362, 605184, grid=(1, 2, 3), stream=0)
    buf3363 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3363]
    launch(kernel_363, buf3363, 605184, grid=(1, 2, 3), stream=0)
    buf3364 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3364]
    launch(kernel_364, buf3364, 605184, grid=(1, 2, 3), stream=0)
    buf3365 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3365]
    launch(kernel_365, buf3365, 605184, grid=(1, 2, 3), stream=0)
    buf3366 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3366]
    launch(kernel_366, buf3366, 605184, grid=(1, 2, 3), stream=0)
    buf3367 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3367]
    launch(kernel_367, buf3367, 605184, grid=(1, 2, 3), stream=0)
    buf3368 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3368]
    launch(kernel_368, buf3368, 605184, grid=(1, 2, 3), stream=0)
    buf3369 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3369]
    launch(kernel_369, buf3369, 605184, grid=(1, 2, 3), stream=0)
    buf3370 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3370]
    launch(kernel_370, buf3370, 605184, grid=(1, 2, 3), stream=0)
    buf3371 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3371]
    launch(kernel_371, buf3371, 605184, grid=(1, 2, 3), stream=0)
    buf3372 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3372]
    launch(kernel_372, buf3372, 605184, grid=(1, 2, 3), stream=0)
    buf3373 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3373]
    launch(kernel_373, buf3373, 605184, grid=(1, 2, 3), stream=0)
    buf3374 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3374]
    launch(kernel_374, buf3374, 605184, grid=(1, 2, 3), stream=0)
    buf3375 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3375]
    launch(kernel_375, buf3375, 605184, grid=(1, 2, 3), stream=0)
    buf3376 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3376]
    launch(kernel_376, buf3376, 605184, grid=(1, 2, 3), stream=0)
    buf3377 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3377]
    launch(kernel_377, buf3377, 605184, grid=(1, 2, 3), stream=0)
    buf3378 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3378]
    launch(kernel_378, buf3378, 605184, grid=(1, 2, 3), stream=0)
    buf3379 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3379]
    launch(kernel_379, buf3379, 605184, grid=(1, 2, 3), stream=0)
    buf3380 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3380]
    launch(kernel_380, buf3380, 605184, grid=(1, 2, 3), stream=0)
    buf3381 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3381]
    launch(kernel_381, buf3381, 605184, grid=(1, 2, 3), stream=0)
    buf3382 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3382]
    launch(kernel_382, buf3382, 605184, grid=(1, 2, 3), stream=0)
    buf3383 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3383]
    launch(kernel_383, buf3383, 605184, grid=(1, 2, 3), stream=0)
    buf3384 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3384]
    launch(kernel_384, buf3384, 605184, grid=(1, 2, 3), stream=0)
    buf3385 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3385]
    launch(kernel_385, buf3385, 605184, grid=(1, 2, 3), stream=0)
    buf3386 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3386]
    launch(kernel_386, buf3386, 605184, grid=(1, 2, 3), stream=0)
    buf3387 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3387]
    launch(kernel_387, buf3387, 605184, grid=(1, 2, 3), stream=0)
    buf3388 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3388]
    launch(kernel_388, buf3388, 605184, grid=(1, 2, 3), stream=0)
    buf3389 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3389]
    launch(kernel_389, buf3389, 605184, grid=(1, 2, 3), stream=0)
    buf3390 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3390]
    launch(kernel_390, buf3390, 605184, grid=(1, 2, 3), stream=0)
    buf3391 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3391]
    launch(kernel_391, buf3391, 605184, grid=(1, 2, 3), stream=0)
    buf3392 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3392]
    launch(kernel_392, buf3392, 605184, grid=(1, 2, 3), stream=0)
    buf3393 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3393]
    launch(kernel_393, buf3393, 605184, grid=(1, 2, 3), stream=0)
    buf3394 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3394]
    launch(kernel_394, buf3394, 605184, grid=(1, 2, 3), stream=0)
    buf3395 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3395]
    launch(kernel_395, buf3395, 605184, grid=(1, 2, 3), stream=0)
    buf3396 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3396]
    launch(kernel_396, buf3396, 605184, grid=(1, 2, 3), stream=0)
    buf3397 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3397]
    launch(kernel_397, buf3397, 605184, grid=(1, 2, 3), stream=0)
    buf3398 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3398]
    launch(kernel_398, buf3398, 605184, grid=(1, 2, 3), stream=0)
    buf3399 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3399]
    launch(kernel_399, buf3399, 605184, grid=(1, 2, 3), stream=0)
    buf3400 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3400]
    launch(kernel_400, buf3400, 605184, grid=(1, 2, 3), stream=0)
    buf3401 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3401]
    launch(kernel_401, buf3401, 605184, grid=(1, 2, 3), stream=0)
    buf3402 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3402]
    launch(kernel_402, buf3402, 605184, grid=(1, 2, 3), stream=0)
    buf3403 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3403]
    launch(kernel_403, buf3403, 605184, grid=(1, 2, 3), stream=0)
    buf3404 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3404]
    launch(kernel_404, buf3404, 605184, grid=(1, 2, 3), stream=0)
    buf3405 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3405]
    launch(kernel_405, buf3405, 605184, grid=(1, 2, 3), stream=0)
    buf3406 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3406]
    launch(kernel_406, buf3406, 605184, grid=(1, 2, 3), stream=0)
    buf3407 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3407]
    launch(kernel_407, buf3407, 605184, grid=(1, 2, 3), stream=0)
    buf3408 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3408]
    launch(kernel_408, buf3408, 605184, grid=(1, 2, 3), stream=0)
    buf3409 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3409]
    launch(kernel_409, buf3409, 605184, grid=(1, 2, 3), stream=0)
    buf3410 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3410]
    launch(kernel_410, buf3410, 605184, grid=(1, 2, 3), stream=0)
    buf3411 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3411]
    launch(kernel_411, buf3411, 605184, grid=(1, 2, 3), stream=0)
    buf3412 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3412]
    launch(kernel_412, buf3412, 605184, grid=(1, 2, 3), stream=0)
    buf3413 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3413]
    launch(kernel_413, buf3413, 605184, grid=(1, 2, 3), stream=0)
    buf3414 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3414]
    launch(kernel_414, buf3414, 605184, grid=(1, 2, 3), stream=0)
    buf3415 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3415]
    launch(kernel_415, buf3415, 605184, grid=(1, 2, 3), stream=0)
    buf3416 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3416]
    launch(kernel_416, buf3416, 605184, grid=(1, 2, 3), stream=0)
    buf3417 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3417]
    launch(kernel_417, buf3417, 605184, grid=(1, 2, 3), stream=0)
    buf3418 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3418]
    launch(kernel_418, buf3418, 605184, grid=(1, 2, 3), stream=0)
    buf3419 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3419]
    launch(kernel_419, buf3419, 605184, grid=(1, 2, 3), stream=0)
    buf3420 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3420]
    launch(kernel_420, buf3420, 605184, grid=(1, 2, 3), stream=0)
    buf3421 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3421]
    launch(kernel_421, buf3421, 605184, grid=(1, 2, 3), stream=0)
    buf3422 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3422]
    launch(kernel_422, buf3422, 605184, grid=(1, 2, 3), stream=0)
    buf3423 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3423]
    launch(kernel_423, buf3423, 605184, grid=(1, 2, 3), stream=0)
    buf3424 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3424]
    launch(kernel_424, buf3424, 605184, grid=(1, 2, 3), stream=0)
    buf3425 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3425]
    launch(kernel_425, buf3425, 605184, grid=(1, 2, 3), stream=0)
    buf3426 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3426]
    launch(kernel_426, buf3426, 605184, grid=(1, 2, 3), stream=0)
    buf3427 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3427]
    launch(kernel_427, buf3427, 605184, grid=(1, 2, 3), stream=0)
    buf3428 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3428]
    launch(kernel_428, buf3428, 605184, grid=(1, 2, 3), stream=0)
    buf3429 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3429]
    launch(kernel_429, buf3429, 605184, grid=(1, 2, 3), stream=0)
    buf3430 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3430]
    launch(kernel_430, buf3430, 605184, grid=(1, 2, 3), stream=0)
    buf3431 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3431]
    launch(kernel_431, buf3431, 605184, grid=(1, 2, 3), stream=0)
    buf3432 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3432]
    launch(kernel_432, buf3432, 605184, grid=(1, 2, 3), stream=0)
    buf3433 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3433]
    launch(kernel_433, buf3433, 605184, grid=(1, 2, 3), stream=0)
    buf3434 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3434]
    launch(kernel_434, buf3434, 605184, grid=(1, 2, 3), stream=0)
    buf3435 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3435]
    launch(kernel_435, buf3435, 605184, grid=(1, 2, 3), stream=0)
    buf3436 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3436]
    launch(kernel_436, buf3436, 605184, grid=(1, 2, 3), stream=0)
    buf3437 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3437]
    launch(kernel_437, buf3437, 605184, grid=(1, 2, 3), stream=0)
    buf3438 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3438]
    launch(kernel_438, buf3438, 605184, grid=(1, 2, 3), stream=0)
    buf3439 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3439]
    launch(kernel_439, buf3439, 605184, grid=(1, 2, 3), stream=0)
    buf3440 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3440]
    launch(kernel_440, buf3440, 605184, grid=(1, 2, 3), stream=0)
    buf3441 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3441]
    launch(kernel_441, buf3441, 605184, grid=(1, 2, 3), stream=0)
    buf3442 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3442]
    launch(kernel_442, buf3442, 605184, grid=(1, 2, 3), stream=0)
    buf3443 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3443]
    launch(kernel_443, buf3443, 605184, grid=(1, 2, 3), stream=0)
    buf3444 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3444]
    launch(kernel_444, buf3444, 605184, grid=(1, 2, 3), stream=0)
    buf3445 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3445]
    launch(kernel_445, buf3445, 605184, grid=(1, 2, 3), stream=0)
    buf3446 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3446]
    launch(kernel_446, buf3446, 605184, grid=(1, 2, 3), stream=0)
    buf3447 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3447]
    launch(kernel_447, buf3447, 605184, grid=(1, 2, 3), stream=0)
    buf3448 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3448]
    launch(kernel_448, buf3448, 605184, grid=(1, 2, 3), stream=0)
    buf3449 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3449]
    launch(kernel_449, buf3449, 605184, grid=(1, 2, 3), stream=0)
    buf3450 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3450]
    launch(kernel_450, buf3450, 605184, grid=(1, 2, 3), stream=0)
    buf3451 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3451]
    launch(kernel_451, buf3451, 605184, grid=(1, 2, 3), stream=0)
    buf3452 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3452]
    launch(kernel_452, buf3452, 605184, grid=(1, 2, 3), stream=0)
    buf3453 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3453]
    launch(kernel_453, buf3453, 605184, grid=(1, 2, 3), stream=0)
    buf3454 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3454]
    launch(kernel_454, buf3454, 605184, grid=(1, 2, 3), stream=0)
    buf3455 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3455]
    launch(kernel_455, buf3455, 605184, grid=(1, 2, 3), stream=0)
    buf3456 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3456]
    launch(kernel_456, buf3456, 605184, grid=(1, 2, 3), stream=0)
    buf3457 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3457]
    launch(kernel_457, buf3457, 605184, grid=(1, 2, 3), stream=0)
    buf3458 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3458]
    launch(kernel_458, buf3458, 605184, grid=(1, 2, 3), stream=0)
    buf3459 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3459]
    launch(kernel_459, buf3459, 605184, grid=(1, 2, 3), stream=0)
    buf3460 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3460]
    launch(kernel_460, buf3460, 605184, grid=(1, 2, 3), stream=0)
    buf3461 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3461]
    launch(kernel_461, buf3461, 605184, grid=(1, 2, 3), stream=0)
    buf3462 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3462]
    launch(kernel_462, buf3462, 605184, grid=(1, 2, 3), stream=0)
    buf3463 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3463]
    launch(kernel_463, buf3463, 605184, grid=(1, 2, 3), stream=0)
    buf3464 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3464]
    launch(kernel_464, buf3464, 605184, grid=(1, 2, 3), stream=0)
    buf3465 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3465]
    launch(kernel_465, buf3465, 605184, grid=(1, 2, 3), stream=0)
    buf3466 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3466]
    launch(kernel_466, buf3466, 605184, grid=(1, 2, 3), stream=0)
    buf3467 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3467]
    launch(kernel_467, buf3467, 605184, grid=(1, 2, 3), stream=0)
    buf3468 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3468]
    launch(kernel_468, buf3468, 605184, grid=(1, 2, 3), stream=0)
    buf3469 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3469]
    launch(kernel_469, buf3469, 605184, grid=(1, 2, 3), stream=0)
    buf3470 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3470]
    launch(kernel_470, buf3470, 605184, grid=(1, 2, 3), stream=0)
    buf3471 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3471]
    launch(kernel_471, buf3471, 605184, grid=(1, 2, 3), stream=0)
    buf3472 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3472]
    launch(kernel_472, buf3472, 605184, grid=(1, 2, 3), stream=0)
    buf3473 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3473]
    launch(kernel_473, buf3473, 605184, grid=(1, 2, 3), stream=0)
    buf3474 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3474]
    launch(kernel_474, buf3474, 605184, grid=(1, 2, 3), stream=0)
    buf3475 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3475]
    launch(kernel_475, buf3475, 605184, grid=(1, 2, 3), stream=0)
    buf3476 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3476]
    launch(kernel_476, buf3476, 605184, grid=(1, 2, 3), stream=0)
    buf3477 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3477]
    launch(kernel_477, buf3477, 605184, grid=(1, 2, 3), stream=0)
    buf3478 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3478]
    launch(kernel_478, buf3478, 605184, grid=(1, 2, 3), stream=0)
    buf3479 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3479]
    launch(kernel_479, buf3479, 605184, grid=(1, 2, 3), stream=0)
    buf3480 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3480]
    launch(kernel_480, buf3480, 605184, grid=(1, 2, 3), stream=0)
    buf3481 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3481]
    launch(kernel_481, buf3481, 605184, grid=(1, 2, 3), stream=0)
    buf3482 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3482]
    launch(kernel_482, buf3482, 605184, grid=(1, 2, 3), stream=0)
    buf3483 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3483]
    launch(kernel_483, buf3483, 605184, grid=(1, 2, 3), stream=0)
    buf3484 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3484]
    launch(kernel_484, buf3484, 605184, grid=(1, 2, 3), stream=0)
    buf3485 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3485]
    launch(kernel_485, buf3485, 605184, grid=(1, 2, 3), stream=0)
    buf3486 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3486]
    launch(kernel_486, buf3486, 605184, grid=(1, 2, 3), stream=0)
    buf3487 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3487]
    launch(kernel_487, buf3487, 605184, grid=(1, 2, 3), stream=0)
    buf3488 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3488]
    launch(kernel_488, buf3488, 605184, grid=(1, 2, 3), stream=0)
    buf3489 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3489]
    launch(kernel_489, buf3489, 605184, grid=(1, 2, 3), stream=0)
    buf3490 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3490]
    launch(kernel_490, buf3490, 605184, grid=(1, 2, 3), stream=0)
    buf3491 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3491]
    launch(kernel_491, buf3491, 605184, grid=(1, 2, 3), stream=0)
    buf3492 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3492]
    launch(kernel_492, buf3492, 605184, grid=(1, 2, 3), stream=0)
    buf3493 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3493]
    launch(kernel_493, buf3493, 605184, grid=(1, 2, 3), stream=0)
    buf3494 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3494]
    launch(kernel_494, buf3494, 605184, grid=(1, 2, 3), stream=0)
    buf3495 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3495]
    launch(kernel_495, buf3495, 605184, grid=(1, 2, 3), stream=0)
    buf3496 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3496]
    launch(kernel_496, buf3496, 605184, grid=(1, 2, 3), stream=0)
    buf3497 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3497]
    launch(kernel_497, buf3497, 605184, grid=(1, 2, 3), stream=0)
    buf3498 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3498]
    launch(kernel_498, buf3498, 605184, grid=(1, 2, 3), stream=0)
    buf3499 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3499]
    launch(kernel_499, buf3499, 605184, grid=(1, 2, 3), stream=0)
    buf3500 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3500]
    launch(kernel_500, buf3500, 605184, grid=(1, 2, 3), stream=0)
    buf3501 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3501]
    launch(kernel_501, buf3501, 605184, grid=(1, 2, 3), stream=0)
    buf3502 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3502]
    launch(kernel_502, buf3502, 605184, grid=(1, 2, 3), stream=0)
    buf3503 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3503]
    launch(kernel_503, buf3503, 605184, grid=(1, 2, 3), stream=0)
    buf3504 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3504]
    launch(kernel_504, buf3504, 605184, grid=(1, 2, 3), stream=0)
    buf3505 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3505]
    launch(kernel_505, buf3505, 605184, grid=(1, 2, 3), stream=0)
    buf3506 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3506]
    launch(kernel_506, buf3506, 605184, grid=(1, 2, 3), stream=0)
    buf3507 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3507]
    launch(kernel_507, buf3507, 605184, grid=(1, 2, 3), stream=0)
    buf3508 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3508]
    launch(kernel_508, buf3508, 605184, grid=(1, 2, 3), stream=0)
    buf3509 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3509]
    launch(kernel_509, buf3509, 605184, grid=(1, 2, 3), stream=0)
    buf3510 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3510]
    launch(kernel_510, buf3510, 605184, grid=(1, 2, 3), stream=0)
    buf3511 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3511]
    launch(kernel_511, buf3511, 605184, grid=(1, 2, 3), stream=0)
    buf3512 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3512]
    launch(kernel_512, buf3512, 605184, grid=(1, 2, 3), stream=0)
    buf3513 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3513]
    launch(kernel_513, buf3513, 605184, grid=(1, 2, 3), stream=0)
    buf3514 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3514]
    launch(kernel_514, buf3514, 605184, grid=(1, 2, 3), stream=0)
    buf3515 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3515]
    launch(kernel_515, buf3515, 605184, grid=(1, 2, 3), stream=0)
    buf3516 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3516]
    launch(kernel_516, buf3516, 605184, grid=(1, 2, 3), stream=0)
    buf3517 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3517]
    launch(kernel_517, buf3517, 605184, grid=(1, 2, 3), stream=0)
    buf3518 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3518]
    launch(kernel_518, buf3518, 605184, grid=(1, 2, 3), stream=0)
    buf3519 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3519]
    launch(kernel_519, buf3519, 605184, grid=(1, 2, 3), stream=0)
    buf3520 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3520]
    launch(kernel_520, buf3520, 605184, grid=(1, 2, 3), stream=0)
    buf3521 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3521]
    launch(kernel_521, buf3521, 605184, grid=(1, 2, 3), stream=0)
    buf3522 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3522]
    launch(kernel_522, buf3522, 605184, grid=(1, 2, 3), stream=0)
    buf3523 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3523]
    launch(kernel_523, buf3523, 605184, grid=(1, 2, 3), stream=0)
    buf3524 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3524]
    launch(kernel_524, buf3524, 605184, grid=(1, 2, 3), stream=0)
    buf3525 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3525]
    launch(kernel_525, buf3525, 605184, grid=(1, 2, 3), stream=0)
    buf3526 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3526]
    launch(kernel_526, buf3526, 605184, grid=(1, 2, 3), stream=0)
    buf3527 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3527]
    launch(kernel_527, buf3527, 605184, grid=(1, 2, 3), stream=0)
    buf3528 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3528]
    launch(kernel_528, buf3528, 605184, grid=(1, 2, 3), stream=0)
    buf3529 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3529]
    launch(kernel_529, buf3529, 605184, grid=(1, 2, 3), stream=0)
    buf3530 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3530]
    launch(kernel_530, buf3530, 605184, grid=(1, 2, 3), stream=0)
    buf3531 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3531]
    launch(kernel_531, buf3531, 605184, grid=(1, 2, 3), stream=0)
    buf3532 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3532]
    launch(kernel_532, buf3532, 605184, grid=(1, 2, 3), stream=0)
    buf3533 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3533]
    launch(kernel_533, buf3533, 605184, grid=(1, 2, 3), stream=0)
    buf3534 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3534]
    launch(kernel_534, buf3534, 605184, grid=(1, 2, 3), stream=0)
    buf3535 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3535]
    launch(kernel_535, buf3535, 605184, grid=(1, 2, 3), stream=0)
    buf3536 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3536]
    launch(kernel_536, buf3536, 605184, grid=(1, 2, 3), stream=0)
    buf3537 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3537]
    launch(kernel_537, buf3537, 605184, grid=(1, 2, 3), stream=0)
    buf3538 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3538]
    launch(kernel_538, buf3538, 605184, grid=(1, 2, 3), stream=0)
    buf3539 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3539]
    launch(kernel_539, buf3539, 605184, grid=(1, 2, 3), stream=0)
    buf3540 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3540]
    launch(kernel_540, buf3540, 605184, grid=(1, 2, 3), stream=0)
    buf3541 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3541]
    launch(kernel_541, buf3541, 605184, grid=(1, 2, 3), stream=0)
    buf3542 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3542]
    launch(kernel_542, buf3542, 605184, grid=(1, 2, 3), stream=0)
    buf3543 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3543]
    launch(kernel_543, buf3543, 605184, grid=(1, 2, 3), stream=0)
    buf3544 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3544]
    launch(kernel_544, buf3544, 605184, grid=(1, 2, 3), stream=0)
    buf3545 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3545]
    launch(kernel_545, buf3545, 605184, grid=(1, 2, 3), stream=0)
    buf3546 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3546]
    launch(kernel_546, buf3546, 605184, grid=(1, 2, 3), stream=0)
    buf3547 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3547]
    launch(kernel_547, buf3547, 605184, grid=(1, 2, 3), stream=0)
    buf3548 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3548]
    launch(kernel_548, buf3548, 605184, grid=(1, 2, 3), stream=0)
    buf3549 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3549]
    launch(kernel_549, buf3549, 605184, grid=(1, 2, 3), stream=0)
    buf3550 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3550]
    launch(kernel_550, buf3550, 605184, grid=(1, 2, 3), stream=0)
    buf3551 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3551]
    launch(kernel_551, buf3551, 605184, grid=(1, 2, 3), stream=0)
    buf3552 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3552]
    launch(kernel_552, buf3552, 605184, grid=(1, 2, 3), stream=0)
    buf3553 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3553]
    launch(kernel_553, buf3553, 605184, grid=(1, 2, 3), stream=0)
    buf3554 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3554]
    launch(kernel_554, buf3554, 605184, grid=(1, 2, 3), stream=0)
    buf3555 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3555]
    launch(kernel_555, buf3555, 605184, grid=(1, 2, 3), stream=0)
    buf3556 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3556]
    launch(kernel_556, buf3556, 605184, grid=(1, 2, 3), stream=0)
    buf3557 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3557]
    launch(kernel_557, buf3557, 605184, grid=(1, 2, 3), stream=0)
    buf3558 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3558]
    launch(kernel_558, buf3558, 605184, grid=(1, 2, 3), stream=0)
    buf3559 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3559]
    launch(kernel_559, buf3559, 605184, grid=(1, 2, 3), stream=0)
    buf3560 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3560]
    launch(kernel_560, buf3560, 605184, grid=(1, 2, 3), stream=0)
    buf3561 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3561]
    launch(kernel_561, buf3561, 605184, grid=(1, 2, 3), stream=0)
    buf3562 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3562]
    launch(kernel_562, buf3562, 605184, grid=(1, 2, 3), stream=0)
    buf3563 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3563]
    launch(kernel_563, buf3563, 605184, grid=(1, 2, 3), stream=0)
    buf3564 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3564]
    launch(kernel_564, buf3564, 605184, grid=(1, 2, 3), stream=0)
    buf3565 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3565]
    launch(kernel_565, buf3565, 605184, grid=(1, 2, 3), stream=0)
    buf3566 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3566]
    launch(kernel_566, buf3566, 605184, grid=(1, 2, 3), stream=0)
    buf3567 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3567]
    launch(kernel_567, buf3567, 605184, grid=(1, 2, 3), stream=0)
    buf3568 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3568]
    launch(kernel_568, buf3568, 605184, grid=(1, 2, 3), stream=0)
    buf3569 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3569]
    launch(kernel_569, buf3569, 605184, grid=(1, 2, 3), stream=0)
    buf3570 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3570]
    launch(kernel_570, buf3570, 605184, grid=(1, 2, 3), stream=0)
    buf3571 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3571]
    launch(kernel_571, buf3571, 605184, grid=(1, 2, 3), stream=0)
    buf3572 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3572]
    launch(kernel_572, buf3572, 605184, grid=(1, 2, 3), stream=0)
    buf3573 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3573]
    launch(kernel_573, buf3573, 605184, grid=(1, 2, 3), stream=0)
    buf3574 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3574]
    launch(kernel_574, buf3574, 605184, grid=(1, 2, 3), stream=0)
    buf3575 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3575]
    launch(kernel_575, buf3575, 605184, grid=(1, 2, 3), stream=0)
    buf3576 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3576]
    launch(kernel_576, buf3576, 605184, grid=(1, 2, 3), stream=0)
    buf3577 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3577]
    launch(kernel_577, buf3577, 605184, grid=(1, 2, 3), stream=0)
    buf3578 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3578]
    launch(kernel_578, buf3578, 605184, grid=(1, 2, 3), stream=0)
    buf3579 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3579]
    launch(kernel_579, buf3579, 605184, grid=(1, 2, 3), stream=0)
    buf3580 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3580]
    launch(kernel_580, buf3580, 605184, grid=(1, 2, 3), stream=0)
    buf3581 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3581]
    launch(kernel_581, buf3581, 605184, grid=(1, 2, 3), stream=0)
    buf3582 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3582]
    launch(kernel_582, buf3582, 605184, grid=(1, 2, 3), stream=0)
    buf3583 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3583]
    launch(kernel_583, buf3583, 605184, grid=(1, 2, 3), stream=0)
    buf3584 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3584]
    launch(kernel_584, buf3584, 605184, grid=(1, 2, 3), stream=0)
    buf3585 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3585]
    launch(kernel_585, buf3585, 605184, grid=(1, 2, 3), stream=0)
    buf3586 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3586]
    launch(kernel_586, buf3586, 605184, grid=(1, 2, 3), stream=0)
    buf3587 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3587]
    launch(kernel_587, buf3587, 605184, grid=(1, 2, 3), stream=0)
    buf3588 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3588]
    launch(kernel_588, buf3588, 605184, grid=(1, 2, 3), stream=0)
    buf3589 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3589]
    launch(kernel_589, buf3589, 605184, grid=(1, 2, 3), stream=0)
    buf3590 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3590]
    launch(kernel_590, buf3590, 605184, grid=(1, 2, 3), stream=0)
    buf3591 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3591]
    launch(kernel_591, buf3591, 605184, grid=(1, 2, 3), stream=0)
    buf3592 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3592]
    launch(kernel_592, buf3592, 605184, grid=(1, 2, 3), stream=0)
    buf3593 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3593]
    launch(kernel_593, buf3593, 605184, grid=(1, 2, 3), stream=0)
    buf3594 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3594]
    launch(kernel_594, buf3594, 605184, grid=(1, 2, 3), stream=0)
    buf3595 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3595]
    launch(kernel_595, buf3595, 605184, grid=(1, 2, 3), stream=0)
    buf3596 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3596]
    launch(kernel_596, buf3596, 605184, grid=(1, 2, 3), stream=0)
    buf3597 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3597]
    launch(kernel_597, buf3597, 605184, grid=(1, 2, 3), stream=0)
    buf3598 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3598]
    launch(kernel_598, buf3598, 605184, grid=(1, 2, 3), stream=0)
    buf3599 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3599]
    launch(kernel_599, buf3599, 605184, grid=(1, 2, 3), stream=0)
    buf3600 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3600]
    launch(kernel_600, buf3600, 605184, grid=(1, 2, 3), stream=0)
    buf3601 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3601]
    launch(kernel_601, buf3601, 605184, grid=(1, 2, 3), stream=0)
    buf3602 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3602]
    launch(kernel_602, buf3602, 605184, grid=(1, 2, 3), stream=0)
    buf3603 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3603]
    launch(kernel_603, buf3603, 605184, grid=(1, 2, 3), stream=0)
    buf3604 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3604]
    launch(kernel_604, buf3604, 605184, grid=(1, 2, 3), stream=0)
    buf3605 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3605]
    launch(kernel_605, buf3605, 605184, grid=(1, 2, 3), stream=0)
    buf3606 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3606]
    launch(kernel_606, buf3606, 605184, grid=(1, 2, 3), stream=0)
    buf3607 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3607]
    launch(kernel_607, buf3607, 605184, grid=(1, 2, 3), stream=0)
    buf3608 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3608]
    launch(kernel_608, buf3608, 605184, grid=(1, 2, 3), stream=0)
    buf3609 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3609]
    launch(kernel_609, buf3609, 605184, grid=(1, 2, 3), stream=0)
    buf3610 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3610]
    launch(kernel_610, buf3610, 605184, grid=(1, 2, 3), stream=0)
    buf3611 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3611]
    launch(kernel_611, buf3611, 605184, grid=(1, 2, 3), stream=0)
    buf3612 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3612]
    launch(kernel_612, buf3612, 605184, grid=(1, 2, 3), stream=0)
    buf3613 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3613]
    launch(kernel_613, buf3613, 605184, grid=(1, 2, 3), stream=0)
    buf3614 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3614]
    launch(kernel_614, buf3614, 605184, grid=(1, 2, 3), stream=0)
    buf3615 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3615]
    launch(kernel_615, buf3615, 605184, grid=(1, 2, 3), stream=0)
    buf3616 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3616]
    launch(kernel_616, buf3616, 605184, grid=(1, 2, 3), stream=0)
    buf3617 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3617]
    launch(kernel_617, buf3617, 605184, grid=(1, 2, 3), stream=0)
    buf3618 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3618]
    launch(kernel_618, buf3618, 605184, grid=(1, 2, 3), stream=0)
    buf3619 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3619]
    launch(kernel_619, buf3619, 605184, grid=(1, 2, 3), stream=0)
    buf3620 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3620]
    launch(kernel_620, buf3620, 605184, grid=(1, 2, 3), stream=0)
    buf3621 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3621]
    launch(kernel_621, buf3621, 605184, grid=(1, 2, 3), stream=0)
    buf3622 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3622]
    launch(kernel_622, buf3622, 605184, grid=(1, 2, 3), stream=0)
    buf3623 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3623]
    launch(kernel_623, buf3623, 605184, grid=(1, 2, 3), stream=0)
    buf3624 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3624]
    launch(kernel_624, buf3624, 605184, grid=(1, 2, 3), stream=0)
    buf3625 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3625]
    launch(kernel_625, buf3625, 605184, grid=(1, 2, 3), stream=0)
    buf3626 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3626]
    launch(kernel_626, buf3626, 605184, grid=(1, 2, 3), stream=0)
    buf3627 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3627]
    launch(kernel_627, buf3627, 605184, grid=(1, 2, 3), stream=0)
    buf3628 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3628]
    launch(kernel_628, buf3628, 605184, grid=(1, 2, 3), stream=0)
    buf3629 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3629]
    launch(kernel_629, buf3629, 605184, grid=(1, 2, 3), stream=0)
    buf3630 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3630]
    launch(kernel_630, buf3630, 605184, grid=(1, 2, 3), stream=0)
    buf3631 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3631]
    launch(kernel_631, buf3631, 605184, grid=(1, 2, 3), stream=0)
    buf3632 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3632]
    launch(kernel_632, buf3632, 605184, grid=(1, 2, 3), stream=0)
    buf3633 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3633]
    launch(kernel_633, buf3633, 605184, grid=(1, 2, 3), stream=0)
    buf3634 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3634]
    launch(kernel_634, buf3634, 605184, grid=(1, 2, 3), stream=0)
    buf3635 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3635]
    launch(kernel_635, buf3635, 605184, grid=(1, 2, 3), stream=0)
    buf3636 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3636]
    launch(kernel_636, buf3636, 605184, grid=(1, 2, 3), stream=0)
    buf3637 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3637]
    launch(kernel_637, buf3637, 605184, grid=(1, 2, 3), stream=0)
    buf3638 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3638]
    launch(kernel_638, buf3638, 605184, grid=(1, 2, 3), stream=0)
    buf3639 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3639]
    launch(kernel_639, buf3639, 605184, grid=(1, 2, 3), stream=0)
    buf3640 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3640]
    launch(kernel_640, buf3640, 605184, grid=(1, 2, 3), stream=0)
    buf3641 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3641]
    launch(kernel_641, buf3641, 605184, grid=(1, 2, 3), stream=0)
    buf3642 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3642]
    launch(kernel_642, buf3642, 605184, grid=(1, 2, 3), stream=0)
    buf3643 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3643]
    launch(kernel_643, buf3643, 605184, grid=(1, 2, 3), stream=0)
    buf3644 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3644]
    launch(kernel_644, buf3644, 605184, grid=(1, 2, 3), stream=0)
    buf3645 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3645]
    launch(kernel_645, buf3645, 605184, grid=(1, 2, 3), stream=0)
    buf3646 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3646]
    launch(kernel_646, buf3646, 605184, grid=(1, 2, 3), stream=0)
    buf3647 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3647]
    launch(kernel_647, buf3647, 605184, grid=(1, 2, 3), stream=0)
    buf3648 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3648]
    launch(kernel_648, buf3648, 605184, grid=(1, 2, 3), stream=0)
    buf3649 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3649]
    launch(kernel_649, buf3649, 605184, grid=(1, 2, 3), stream=0)
    buf3650 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3650]
    launch(kernel_650, buf3650, 605184, grid=(1, 2, 3), stream=0)
    buf3651 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3651]
    launch(kernel_651, buf3651, 605184, grid=(1, 2, 3), stream=0)
    buf3652 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3652]
    launch(kernel_652, buf3652, 605184, grid=(1, 2, 3), stream=0)
    buf3653 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3653]
    launch(kernel_653, buf3653, 605184, grid=(1, 2, 3), stream=0)
    buf3654 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3654]
    launch(kernel_654, buf3654, 605184, grid=(1, 2, 3), stream=0)
    buf3655 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3655]
    launch(kernel_655, buf3655, 605184, grid=(1, 2, 3), stream=0)
    buf3656 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3656]
    launch(kernel_656, buf3656, 605184, grid=(1, 2, 3), stream=0)
    buf3657 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3657]
    launch(kernel_657, buf3657, 605184, grid=(1, 2, 3), stream=0)
    buf3658 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3658]
    launch(kernel_658, buf3658, 605184, grid=(1, 2, 3), stream=0)
    buf3659 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3659]
    launch(kernel_659, buf3659, 605184, grid=(1, 2, 3), stream=0)
    buf3660 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3660]
    launch(kernel_660, buf3660, 605184, grid=(1, 2, 3), stream=0)
    buf3661 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3661]
    launch(kernel_661, buf3661, 605184, grid=(1, 2, 3), stream=0)
    buf3662 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3662]
    launch(kernel_662, buf3662, 605184, grid=(1, 2, 3), stream=0)
    buf3663 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3663]
    launch(kernel_663, buf3663, 605184, grid=(1, 2, 3), stream=0)
    buf3664 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3664]
    launch(kernel_664, buf3664, 605184, grid=(1, 2, 3), stream=0)
    buf3665 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3665]
    launch(kernel_665, buf3665, 605184, grid=(1, 2, 3), stream=0)
    buf3666 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3666]
    launch(kernel_666, buf3666, 605184, grid=(1, 2, 3), stream=0)
    buf3667 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3667]
    launch(kernel_667, buf3667, 605184, grid=(1, 2, 3), stream=0)
    buf3668 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3668]
    launch(kernel_668, buf3668, 605184, grid=(1, 2, 3), stream=0)
    buf3669 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3669]
    launch(kernel_669, buf3669, 605184, grid=(1, 2, 3), stream=0)
    buf3670 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3670]
    launch(kernel_670, buf3670, 605184, grid=(1, 2, 3), stream=0)
    buf3671 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3671]
    launch(kernel_671, buf3671, 605184, grid=(1, 2, 3), stream=0)
    buf3672 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3672]
    launch(kernel_672, buf3672, 605184, grid=(1, 2, 3), stream=0)
    buf3673 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3673]
    launch(kernel_673, buf3673, 605184, grid=(1, 2, 3), stream=0)
    buf3674 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3674]
    launch(kernel_674, buf3674, 605184, grid=(1, 2, 3), stream=0)
    buf3675 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3675]
    launch(kernel_675, buf3675, 605184, grid=(1, 2, 3), stream=0)
    buf3676 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3676]
    launch(kernel_676, buf3676, 605184, grid=(1, 2, 3), stream=0)
    buf3677 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3677]
    launch(kernel_677, buf3677, 605184, grid=(1, 2, 3), stream=0)
    buf3678 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3678]
    launch(kernel_678, buf3678, 605184, grid=(1, 2, 3), stream=0)
    buf3679 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3679]
    launch(kernel_679, buf3679, 605184, grid=(1, 2, 3), stream=0)
    buf3680 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3680]
    launch(kernel_680, buf3680, 605184, grid=(1, 2, 3), stream=0)
    buf3681 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3681]
    launch(kernel_681, buf3681, 605184, grid=(1, 2, 3), stream=0)
    buf3682 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3682]
    launch(kernel_682, buf3682, 605184, grid=(1, 2, 3), stream=0)
    buf3683 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3683]
    launch(kernel_683, buf3683, 605184, grid=(1, 2, 3), stream=0)
    buf3684 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3684]
    launch(kernel_684, buf3684, 605184, grid=(1, 2, 3), stream=0)
    buf3685 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3685]
    launch(kernel_685, buf3685, 605184, grid=(1, 2, 3), stream=0)
    buf3686 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3686]
    launch(kernel_686, buf3686, 605184, grid=(1, 2, 3), stream=0)
    buf3687 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3687]
    launch(kernel_687, buf3687, 605184, grid=(1, 2, 3), stream=0)
    buf3688 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3688]
    launch(kernel_688, buf3688, 605184, grid=(1, 2, 3), stream=0)
    buf3689 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3689]
    launch(kernel_689, buf3689, 605184, grid=(1, 2, 3), stream=0)
    buf3690 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3690]
    launch(kernel_690, buf3690, 605184, grid=(1, 2, 3), stream=0)
    buf3691 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3691]
    launch(kernel_691, buf3691, 605184, grid=(1, 2, 3), stream=0)
    buf3692 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3692]
    launch(kernel_692, buf3692, 605184, grid=(1, 2, 3), stream=0)
    buf3693 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3693]
    launch(kernel_693, buf3693, 605184, grid=(1, 2, 3), stream=0)
    buf3694 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3694]
    launch(kernel_694, buf3694, 605184, grid=(1, 2, 3), stream=0)
    buf3695 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3695]
    launch(kernel_695, buf3695, 605184, grid=(1, 2, 3), stream=0)
    buf3696 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3696]
    launch(kernel_696, buf3696, 605184, grid=(1, 2, 3), stream=0)
    buf3697 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3697]
    launch(kernel_697, buf3697, 605184, grid=(1, 2, 3), stream=0)
    buf3698 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3698]
    launch(kernel_698, buf3698, 605184, grid=(1, 2, 3), stream=0)
    buf3699 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3699]
    launch(kernel_699, buf3699, 605184, grid=(1, 2, 3), stream=0)
    buf3700 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3700]
    launch(kernel_700, buf3700, 605184, grid=(1, 2, 3), stream=0)
    buf3701 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3701]
    launch(kernel_701, buf3701, 605184, grid=(1, 2, 3), stream=0)
    buf3702 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3702]
    launch(kernel_702, buf3702, 605184, grid=(1, 2, 3), stream=0)
    buf3703 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3703]
    launch(kernel_703, buf3703, 605184, grid=(1, 2, 3), stream=0)
    buf3704 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3704]
    launch(kernel_704, buf3704, 605184, grid=(1, 2, 3), stream=0)
    buf3705 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3705]
    launch(kernel_705, buf3705, 605184, grid=(1, 2, 3), stream=0)
    buf3706 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3706]
    launch(kernel_706, buf3706, 605184, grid=(1, 2, 3), stream=0)
    buf3707 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3707]
    launch(kernel_707, buf3707, 605184, grid=(1, 2, 3), stream=0)
    buf3708 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3708]
    launch(kernel_708, buf3708, 605184, grid=(1, 2, 3), stream=0)
    buf3709 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3709]
    launch(kernel_709, buf3709, 605184, grid=(1, 2, 3), stream=0)
    buf3710 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3710]
    launch(kernel_710, buf3710, 605184, grid=(1, 2, 3), stream=0)
    buf3711 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3711]
    launch(kernel_711, buf3711, 605184, grid=(1, 2, 3), stream=0)
    buf3712 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3712]
    launch(kernel_712, buf3712, 605184, grid=(1, 2, 3), stream=0)
    buf3713 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3713]
    launch(kernel_713, buf3713, 605184, grid=(1, 2, 3), stream=0)
    buf3714 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3714]
    launch(kernel_714, buf3714, 605184, grid=(1, 2, 3), stream=0)
    buf3715 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3715]
    launch(kernel_715, buf3715, 605184, grid=(1, 2, 3), stream=0)
    buf3716 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3716]
    launch(kernel_716, buf3716, 605184, grid=(1, 2, 3), stream=0)
    buf3717 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3717]
    launch(kernel_717, buf3717, 605184, grid=(1, 2, 3), stream=0)
    buf3718 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3718]
    launch(kernel_718, buf3718, 605184, grid=(1, 2, 3), stream=0)
    buf3719 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3719]
    launch(kernel_719, buf3719, 605184, grid=(1, 2, 3), stream=0)
    buf3720 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3720]
    launch(kernel_720, buf3720, 605184, grid=(1, 2, 3), stream=0)
    buf3721 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3721]
    launch(kernel_721, buf3721, 605184, grid=(1, 2, 3), stream=0)
    buf3722 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3722]
    launch(kernel_722, buf3722, 605184, grid=(1, 2, 3), stream=0)
    buf3723 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3723]
    launch(kernel_723, buf3723, 605184, grid=(1, 2, 3), stream=0)
    buf3724 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3724]
    launch(kernel_724, buf3724, 605184, grid=(1, 2, 3), stream=0)
    buf3725 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3725]
    launch(kernel_725, buf3725, 605184, grid=(1, 2, 3), stream=0)
    buf3726 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3726]
    launch(kernel_726, buf3726, 605184, grid=(1, 2, 3), stream=0)
    buf3727 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3727]
    launch(kernel_727, buf3727, 605184, grid=(1, 2, 3), stream=0)
    buf3728 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3728]
    launch(kernel_728, buf3728, 605184, grid=(1, 2, 3), stream=0)
    buf3729 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3729]
    launch(kernel_729, buf3729, 605184, grid=(1, 2, 3), stream=0)
    buf3730 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3730]
    launch(kernel_730, buf3730, 605184, grid=(1, 2, 3), stream=0)
    buf3731 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3731]
    launch(kernel_731, buf3731, 605184, grid=(1, 2, 3), stream=0)
    buf3732 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3732]
    launch(kernel_732, buf3732, 605184, grid=(1, 2, 3), stream=0)
    buf3733 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3733]
    launch(kernel_733, buf3733, 605184, grid=(1, 2, 3), stream=0)
    buf3734 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3734]
    launch(kernel_734, buf3734, 605184, grid=(1, 2, 3), stream=0)
    buf3735 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3735]
    launch(kernel_735, buf3735, 605184, grid=(1, 2, 3), stream=0)
    buf3736 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3736]
    launch(kernel_736, buf3736, 605184, grid=(1, 2, 3), stream=0)
    buf3737 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3737]
    launch(kernel_737, buf3737, 605184, grid=(1, 2, 3), stream=0)
    buf3738 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3738]
    launch(kernel_738, buf3738, 605184, grid=(1, 2, 3), stream=0)
    buf3739 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3739]
    launch(kernel_739, buf3739, 605184, grid=(1, 2, 3), stream=0)
    buf3740 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3740]
    launch(kernel_740, buf3740, 605184, grid=(1, 2, 3), stream=0)
    buf3741 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3741]
    launch(kernel_741, buf3741, 605184, grid=(1, 2, 3), stream=0)
    buf3742 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3742]
    launch(kernel_742, buf3742, 605184, grid=(1, 2, 3), stream=0)
    buf3743 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3743]
    launch(kernel_743, buf3743, 605184, grid=(1, 2, 3), stream=0)
    buf3744 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3744]
    launch(kernel_744, buf3744, 605184, grid=(1, 2, 3), stream=0)
    buf3745 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3745]
    launch(kernel_745, buf3745, 605184, grid=(1, 2, 3), stream=0)
    buf3746 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3746]
    launch(kernel_746, buf3746, 605184, grid=(1, 2, 3), stream=0)
    buf3747 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3747]
    launch(kernel_747, buf3747, 605184, grid=(1, 2, 3), stream=0)
    buf3748 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3748]
    launch(kernel_748, buf3748, 605184, grid=(1, 2, 3), stream=0)
    buf3749 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3749]
    launch(kernel_749, buf3749, 605184, grid=(1, 2, 3), stream=0)
    buf3750 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3750]
    launch(kernel_750, buf3750, 605184, grid=(1, 2, 3), stream=0)
    buf3751 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3751]
    launch(kernel_751, buf3751, 605184, grid=(1, 2, 3), stream=0)
    buf3752 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3752]
    launch(kernel_752, buf3752, 605184, grid=(1, 2, 3), stream=0)
    buf3753 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3753]
    launch(kernel_753, buf3753, 605184, grid=(1, 2, 3), stream=0)
    buf3754 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3754]
    launch(kernel_754, buf3754, 605184, grid=(1, 2, 3), stream=0)
    buf3755 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3755]
    launch(kernel_755, buf3755, 605184, grid=(1, 2, 3), stream=0)
    buf3756 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3756]
    launch(kernel_756, buf3756, 605184, grid=(1, 2, 3), stream=0)
    buf3757 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3757]
    launch(kernel_757, buf3757, 605184, grid=(1, 2, 3), stream=0)
    buf3758 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3758]
    launch(kernel_758, buf3758, 605184, grid=(1, 2, 3), stream=0)
    buf3759 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3759]
    launch(kernel_759, buf3759, 605184, grid=(1, 2, 3), stream=0)
    buf3760 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3760]
    launch(kernel_760, buf3760, 605184, grid=(1, 2, 3), stream=0)
    buf3761 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3761]
    launch(kernel_761, buf3761, 605184, grid=(1, 2, 3), stream=0)
    buf3762 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3762]
    launch(kernel_762, buf3762, 605184, grid=(1, 2, 3), stream=0)
    buf3763 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3763]
    launch(kernel_763, buf3763, 605184, grid=(1, 2, 3), stream=0)
    buf3764 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3764]
    launch(kernel_764, buf3764, 605184, grid=(1, 2, 3), stream=0)
    buf3765 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3765]
    launch(kernel_765, buf3765, 605184, grid=(1, 2, 3), stream=0)
    buf3766 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3766]
    launch(kernel_766, buf3766, 605184, grid=(1, 2, 3), stream=0)
    buf3767 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3767]
    launch(kernel_767, buf3767, 605184, grid=(1, 2, 3), stream=0)
    buf3768 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3768]
    launch(kernel_768, buf3768, 605184, grid=(1, 2, 3), stream=0)
    buf3769 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3769]
    launch(kernel_769, buf3769, 605184, grid=(1, 2, 3), stream=0)
    buf3770 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3770]
    launch(kernel_770, buf3770, 605184, grid=(1, 2, 3), stream=0)
    buf3771 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3771]
    launch(kernel_771, buf3771, 605184, grid=(1, 2, 3), stream=0)
    buf3772 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3772]
    launch(kernel_772, buf3772, 605184, grid=(1, 2, 3), stream=0)
    buf3773 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3773]
    launch(kernel_773, buf3773, 605184, grid=(1, 2, 3), stream=0)
    buf3774 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3774]
    launch(kernel_774, buf3774, 605184, grid=(1, 2, 3), stream=0)
    buf3775 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3775]
    launch(kernel_775, buf3775, 605184, grid=(1, 2, 3), stream=0)
    buf3776 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3776]
    launch(kernel_776, buf3776, 605184, grid=(1, 2, 3), stream=0)
    buf3777 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3777]
    launch(kernel_777, buf3777, 605184, grid=(1, 2, 3), stream=0)
    buf3778 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3778]
    launch(kernel_778, buf3778, 605184, grid=(1, 2, 3), stream=0)
    buf3779 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3779]
    launch(kernel_779, buf3779, 605184, grid=(1, 2, 3), stream=0)
    buf3780 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3780]
    launch(kernel_780, buf3780, 605184, grid=(1, 2, 3), stream=0)
    buf3781 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3781]
    launch(kernel_781, buf3781, 605184, grid=(1, 2, 3), stream=0)
    buf3782 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3782]
    launch(kernel_782, buf3782, 605184, grid=(1, 2, 3), stream=0)
    buf3783 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3783]
    launch(kernel_783, buf3783, 605184, grid=(1, 2, 3), stream=0)
    buf3784 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3784]
    launch(kernel_784, buf3784, 605184, grid=(1, 2, 3), stream=0)
    buf3785 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3785]
    launch(kernel_785, buf3785, 605184, grid=(1, 2, 3), stream=0)
    buf3786 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3786]
    launch(kernel_786, buf3786, 605184, grid=(1, 2, 3), stream=0)
    buf3787 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3787]
    launch(kernel_787, buf3787, 605184, grid=(1, 2, 3), stream=0)
    buf3788 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3788]
    launch(kernel_788, buf3788, 605184, grid=(1, 2, 3), stream=0)
    buf3789 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3789]
    launch(kernel_789, buf3789, 605184, grid=(1, 2, 3), stream=0)
    buf3790 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3790]
    launch(kernel_790, buf3790, 605184, grid=(1, 2, 3), stream=0)
    buf3791 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3791]
    launch(kernel_791, buf3791, 605184, grid=(1, 2, 3), stream=0)
    buf3792 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3792]
    launch(kernel_792, buf3792, 605184, grid=(1, 2, 3), stream=0)
    buf3793 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3793]
    launch(kernel_793, buf3793, 605184, grid=(1, 2, 3), stream=0)
    buf3794 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3794]
    launch(kernel_794, buf3794, 605184, grid=(1, 2, 3), stream=0)
    buf3795 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3795]
    launch(kernel_795, buf3795, 605184, grid=(1, 2, 3), stream=0)
    buf3796 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3796]
    launch(kernel_796, buf3796, 605184, grid=(1, 2, 3), stream=0)
    buf3797 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3797]
    launch(kernel_797, buf3797, 605184, grid=(1, 2, 3), stream=0)
    buf3798 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3798]
    launch(kernel_798, buf3798, 605184, grid=(1, 2, 3), stream=0)
    buf3799 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3799]
    launch(kernel_799, buf3799, 605184, grid=(1, 2, 3), stream=0)
    buf3800 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3800]
    launch(kernel_800, buf3800, 605184, grid=(1, 2, 3), stream=0)
    buf3801 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3801]
    launch(kernel_801, buf3801, 605184, grid=(1, 2, 3), stream=0)
    buf3802 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3802]
    launch(kernel_802, buf3802, 605184, grid=(1, 2, 3), stream=0)
    buf3803 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3803]
    launch(kernel_803, buf3803, 605184, grid=(1, 2, 3), stream=0)
    buf3804 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3804]
    launch(kernel_804, buf3804, 605184, grid=(1, 2, 3), stream=0)
    buf3805 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3805]
    launch(kernel_805, buf3805, 605184, grid=(1, 2, 3), stream=0)
    buf3806 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3806]
    launch(kernel_806, buf3806, 605184, grid=(1, 2, 3), stream=0)
    buf3807 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3807]
    launch(kernel_807, buf3807, 605184, grid=(1, 2, 3), stream=0)
    buf3808 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3808]
    launch(kernel_808, buf3808, 605184, grid=(1, 2, 3), stream=0)
    buf3809 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3809]
    launch(kernel_809, buf3809, 605184, grid=(1, 2, 3), stream=0)
    buf3810 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3810]
    launch(kernel_810, buf3810, 605184, grid=(1, 2, 3), stream=0)
    buf3811 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3811]
    launch(kernel_811, buf3811, 605184, grid=(1, 2, 3), stream=0)
    buf3812 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3812]
    launch(kernel_812, buf3812, 605184, grid=(1, 2, 3), stream=0)
    buf3813 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3813]
    launch(kernel_813, buf3813, 605184, grid=(1, 2, 3), stream=0)
    buf3814 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3814]
    launch(kernel_814, buf3814, 605184, grid=(1, 2, 3), stream=0)
    buf3815 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3815]
    launch(kernel_815, buf3815, 605184, grid=(1, 2, 3), stream=0)
    buf3816 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3816]
    launch(kernel_816, buf3816, 605184, grid=(1, 2, 3), stream=0)
    buf3817 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3817]
    launch(kernel_817, buf3817, 605184, grid=(1, 2, 3), stream=0)
    buf3818 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3818]
    launch(kernel_818, buf3818, 605184, grid=(1, 2, 3), stream=0)
    buf3819 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3819]
    launch(kernel_819, buf3819, 605184, grid=(1, 2, 3), stream=0)
    buf3820 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3820]
    launch(kernel_820, buf3820, 605184, grid=(1, 2, 3), stream=0)
    buf3821 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3821]
    launch(kernel_821, buf3821, 605184, grid=(1, 2, 3), stream=0)
    buf3822 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3822]
    launch(kernel_822, buf3822, 605184, grid=(1, 2, 3), stream=0)
    buf3823 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3823]
    launch(kernel_823, buf3823, 605184, grid=(1, 2, 3), stream=0)
    buf3824 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3824]
    launch(kernel_824, buf3824, 605184, grid=(1, 2, 3), stream=0)
    buf3825 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3825]
    launch(kernel_825, buf3825, 605184, grid=(1, 2, 3), stream=0)
    buf3826 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3826]
    launch(kernel_826, buf3826, 605184, grid=(1, 2, 3), stream=0)
    buf3827 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3827]
    launch(kernel_827, buf3827, 605184, grid=(1, 2, 3), stream=0)
    buf3828 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3828]
    launch(kernel_828, buf3828, 605184, grid=(1, 2, 3), stream=0)
    buf3829 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3829]
    launch(kernel_829, buf3829, 605184, grid=(1, 2, 3), stream=0)
    buf3830 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3830]
    launch(kernel_830, buf3830, 605184, grid=(1, 2, 3), stream=0)
    buf3831 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3831]
    launch(kernel_831, buf3831, 605184, grid=(1, 2, 3), stream=0)
    buf3832 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3832]
    launch(kernel_832, buf3832, 605184, grid=(1, 2, 3), stream=0)
    buf3833 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3833]
    launch(kernel_833, buf3833, 605184, grid=(1, 2, 3), stream=0)
    buf3834 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3834]
    launch(kernel_834, buf3834, 605184, grid=(1, 2, 3), stream=0)
    buf3835 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3835]
    launch(kernel_835, buf3835, 605184, grid=(1, 2, 3), stream=0)
    buf3836 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3836]
    launch(kernel_836, buf3836, 605184, grid=(1, 2, 3), stream=0)
    buf3837 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3837]
    launch(kernel_837, buf3837, 605184, grid=(1, 2, 3), stream=0)
    buf3838 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3838]
    launch(kernel_838, buf3838, 605184, grid=(1, 2, 3), stream=0)
    buf3839 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3839]
    launch(kernel_839, buf3839, 605184, grid=(1, 2, 3), stream=0)
    buf3840 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3840]
    launch(kernel_840, buf3840, 605184, grid=(1, 2, 3), stream=0)
    buf3841 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3841]
    launch(kernel_841, buf3841, 605184, grid=(1, 2, 3), stream=0)
    buf3842 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3842]
    launch(kernel_842, buf3842, 605184, grid=(1, 2, 3), stream=0)
    buf3843 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3843]
    launch(kernel_843, buf3843, 605184, grid=(1, 2, 3), stream=0)
    buf3844 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3844]
    launch(kernel_844, buf3844, 605184, grid=(1, 2, 3), stream=0)
    buf3845 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3845]
    launch(kernel_845, buf3845, 605184, grid=(1, 2, 3), stream=0)
    buf3846 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3846]
    launch(kernel_846, buf3846, 605184, grid=(1, 2, 3), stream=0)
    buf3847 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3847]
    launch(kernel_847, buf3847, 605184, grid=(1, 2, 3), stream=0)
    buf3848 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3848]
    launch(kernel_848, buf3848, 605184, grid=(1, 2, 3), stream=0)
    buf3849 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3849]
    launch(kernel_849, buf3849, 605184, grid=(1, 2, 3), stream=0)
    buf3850 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3850]
    launch(kernel_850, buf3850, 605184, grid=(1, 2, 3), stream=0)
    buf3851 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3851]
    launch(kernel_851, buf3851, 605184, grid=(1, 2, 3), stream=0)
    buf3852 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3852]
    launch(kernel_852, buf3852, 605184, grid=(1, 2, 3), stream=0)
    buf3853 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3853]
    launch(kernel_853, buf3853, 605184, grid=(1, 2, 3), stream=0)
    buf3854 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3854]
    launch(kernel_854, buf3854, 605184, grid=(1, 2, 3), stream=0)
    buf3855 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3855]
    launch(kernel_855, buf3855, 605184, grid=(1, 2, 3), stream=0)
    buf3856 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3856]
    launch(kernel_856, buf3856, 605184, grid=(1, 2, 3), stream=0)
    buf3857 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3857]
    launch(kernel_857, buf3857, 605184, grid=(1, 2, 3), stream=0)
    buf3858 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3858]
    launch(kernel_858, buf3858, 605184, grid=(1, 2, 3), stream=0)
    buf3859 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3859]
    launch(kernel_859, buf3859, 605184, grid=(1, 2, 3), stream=0)
    buf3860 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3860]
    launch(kernel_860, buf3860, 605184, grid=(1, 2, 3), stream=0)
    buf3861 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3861]
    launch(kernel_861, buf3861, 605184, grid=(1, 2, 3), stream=0)
    buf3862 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3862]
    launch(kernel_862, buf3862, 605184, grid=(1, 2, 3), stream=0)
    buf3863 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3863]
    launch(kernel_863, buf3863, 605184, grid=(1, 2, 3), stream=0)
    buf3864 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3864]
    launch(kernel_864, buf3864, 605184, grid=(1, 2, 3), stream=0)
    buf3865 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3865]
    launch(kernel_865, buf3865, 605184, grid=(1, 2, 3), stream=0)
    buf3866 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3866]
    launch(kernel_866, buf3866, 605184, grid=(1, 2, 3), stream=0)
    buf3867 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3867]
    launch(kernel_867, buf3867, 605184, grid=(1, 2, 3), stream=0)
    buf3868 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3868]
    launch(kernel_868, buf3868, 605184, grid=(1, 2, 3), stream=0)
    buf3869 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3869]
    launch(kernel_869, buf3869, 605184, grid=(1, 2, 3), stream=0)
    buf3870 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3870]
    launch(kernel_870, buf3870, 605184, grid=(1, 2, 3), stream=0)
    buf3871 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3871]
    launch(kernel_871, buf3871, 605184, grid=(1, 2, 3), stream=0)
    buf3872 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3872]
    launch(kernel_872, buf3872, 605184, grid=(1, 2, 3), stream=0)
    buf3873 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3873]
    launch(kernel_873, buf3873, 605184, grid=(1, 2, 3), stream=0)
    buf3874 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3874]
    launch(kernel_874, buf3874, 605184, grid=(1, 2, 3), stream=0)
    buf3875 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3875]
    launch(kernel_875, buf3875, 605184, grid=(1, 2, 3), stream=0)
    buf3876 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3876]
    launch(kernel_876, buf3876, 605184, grid=(1, 2, 3), stream=0)
    buf3877 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3877]
    launch(kernel_877, buf3877, 605184, grid=(1, 2, 3), stream=0)
    buf3878 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3878]
    launch(kernel_878, buf3878, 605184, grid=(1, 2, 3), stream=0)
    buf3879 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3879]
    launch(kernel_879, buf3879, 605184, grid=(1, 2, 3), stream=0)
    buf3880 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3880]
    launch(kernel_880, buf3880, 605184, grid=(1, 2, 3), stream=0)
    buf3881 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3881]
    launch(kernel_881, buf3881, 605184, grid=(1, 2, 3), stream=0)
    buf3882 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3882]
    launch(kernel_882, buf3882, 605184, grid=(1, 2, 3), stream=0)
    buf3883 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3883]
    launch(kernel_883, buf3883, 605184, grid=(1, 2, 3), stream=0)
    buf3884 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3884]
    launch(kernel_884, buf3884, 605184, grid=(1, 2, 3), stream=0)
    buf3885 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3885]
    launch(kernel_885, buf3885, 605184, grid=(1, 2, 3), stream=0)
    buf3886 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3886]
    launch(kernel_886, buf3886, 605184, grid=(1, 2, 3), stream=0)
    buf3887 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3887]
    launch(kernel_887, buf3887, 605184, grid=(1, 2, 3), stream=0)
    buf3888 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3888]
    launch(kernel_888, buf3888, 605184, grid=(1, 2, 3), stream=0)
    buf3889 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3889]
    launch(kernel_889, buf3889, 605184, grid=(1, 2, 3), stream=0)
    buf3890 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3890]
    launch(kernel_890, buf3890, 605184, grid=(1, 2, 3), stream=0)
    buf3891 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3891]
    launch(kernel_891, buf3891, 605184, grid=(1, 2, 3), stream=0)
    buf3892 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3892]
    launch(kernel_892, buf3892, 605184, grid=(1, 2, 3), stream=0)
    buf3893 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3893]
    launch(kernel_893, buf3893, 605184, grid=(1, 2, 3), stream=0)
    buf3894 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3894]
    launch(kernel_894, buf3894, 605184, grid=(1, 2, 3), stream=0)
    buf3895 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3895]
    launch(kernel_895, buf3895, 605184, grid=(1, 2, 3), stream=0)
    buf3896 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3896]
    launch(kernel_896, buf3896, 605184, grid=(1, 2, 3), stream=0)
    buf3897 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3897]
    launch(kernel_897, buf3897, 605184, grid=(1, 2, 3), stream=0)
    buf3898 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3898]
    launch(kernel_898, buf3898, 605184, grid=(1, 2, 3), stream=0)
    buf3899 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3899]
    launch(kernel_899, buf3899, 605184, grid=(1, 2, 3), stream=0)
    buf3900 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3900]
    launch(kernel_900, buf3900, 605184, grid=(1, 2, 3), stream=0)
    buf3901 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3901]
    launch(kernel_901, buf3901, 605184, grid=(1, 2, 3), stream=0)
    buf3902 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3902]
    launch(kernel_902, buf3902, 605184, grid=(1, 2, 3), stream=0)
    buf3903 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3903]
    launch(kernel_903, buf3903, 605184, grid=(1, 2, 3), stream=0)
    buf3904 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3904]
    launch(kernel_904, buf3904, 605184, grid=(1, 2, 3), stream=0)
    buf3905 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3905]
    launch(kernel_905, buf3905, 605184, grid=(1, 2, 3), stream=0)
    buf3906 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3906]
    launch(kernel_906, buf3906, 605184, grid=(1, 2, 3), stream=0)
    buf3907 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3907]
    launch(kernel_907, buf3907, 605184, grid=(1, 2, 3), stream=0)
    buf3908 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3908]
    launch(kernel_908, buf3908, 605184, grid=(1, 2, 3), stream=0)
    buf3909 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3909]
    launch(kernel_909, buf3909, 605184, grid=(1, 2, 3), stream=0)
    buf3910 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3910]
    launch(kernel_910, buf3910, 605184, grid=(1, 2, 3), stream=0)
    buf3911 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3911]
    launch(kernel_911, buf3911, 605184, grid=(1, 2, 3), stream=0)
    buf3912 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3912]
    launch(kernel_912, buf3912, 605184, grid=(1, 2, 3), stream=0)
    buf3913 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3913]
    launch(kernel_913, buf3913, 605184, grid=(1, 2, 3), stream=0)
    buf3914 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3914]
    launch(kernel_914, buf3914, 605184, grid=(1, 2, 3), stream=0)
    buf3915 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3915]
    launch(kernel_915, buf3915, 605184, grid=(1, 2, 3), stream=0)
    buf3916 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3916]
    launch(kernel_916, buf3916, 605184, grid=(1, 2, 3), stream=0)
    buf3917 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3917]
    launch(kernel_917, buf3917, 605184, grid=(1, 2, 3), stream=0)
    buf3918 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3918]
    launch(kernel_918, buf3918, 605184, grid=(1, 2, 3), stream=0)
    buf3919 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3919]
    launch(kernel_919, buf3919, 605184, grid=(1, 2, 3), stream=0)
    buf3920 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3920]
    launch(kernel_920, buf3920, 605184, grid=(1, 2, 3), stream=0)
    buf3921 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3921]
    launch(kernel_921, buf3921, 605184, grid=(1, 2, 3), stream=0)
    buf3922 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3922]
    launch(kernel_922, buf3922, 605184, grid=(1, 2, 3), stream=0)
    buf3923 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3923]
    launch(kernel_923, buf3923, 605184, grid=(1, 2, 3), stream=0)
    buf3924 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3924]
    launch(kernel_924, buf3924, 605184, grid=(1, 2, 3), stream=0)
    buf3925 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3925]
    launch(kernel_925, buf3925, 605184, grid=(1, 2, 3), stream=0)
    buf3926 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3926]
    launch(kernel_926, buf3926, 605184, grid=(1, 2, 3), stream=0)
    buf3927 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3927]
    launch(kernel_927, buf3927, 605184, grid=(1, 2, 3), stream=0)
    buf3928 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3928]
    launch(kernel_928, buf3928, 605184, grid=(1, 2, 3), stream=0)
    buf3929 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3929]
    launch(kernel_929, buf3929, 605184, grid=(1, 2, 3), stream=0)
    buf3930 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3930]
    launch(kernel_930, buf3930, 605184, grid=(1, 2, 3), stream=0)
    buf3931 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3931]
    launch(kernel_931, buf3931, 605184, grid=(1, 2, 3), stream=0)
    buf3932 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3932]
    launch(kernel_932, buf3932, 605184, grid=(1, 2, 3), stream=0)
    buf3933 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3933]
    launch(kernel_933, buf3933, 605184, grid=(1, 2, 3), stream=0)
    buf3934 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3934]
    launch(kernel_934, buf3934, 605184, grid=(1, 2, 3), stream=0)
    buf3935 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3935]
    launch(kernel_935, buf3935, 605184, grid=(1, 2, 3), stream=0)
    buf3936 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3936]
    launch(kernel_936, buf3936, 605184, grid=(1, 2, 3), stream=0)
    buf3937 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3937]
    launch(kernel_937, buf3937, 605184, grid=(1, 2, 3), stream=0)
    buf3938 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3938]
    launch(kernel_938, buf3938, 605184, grid=(1, 2, 3), stream=0)
    buf3939 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3939]
    launch(kernel_939, buf3939, 605184, grid=(1, 2, 3), stream=0)
    buf3940 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3940]
    launch(kernel_940, buf3940, 605184, grid=(1, 2, 3), stream=0)
    buf3941 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3941]
    launch(kernel_941, buf3941, 605184, grid=(1, 2, 3), stream=0)
    buf3942 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3942]
    launch(kernel_942, buf3942, 605184, grid=(1, 2, 3), stream=0)
    buf3943 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3943]
    launch(kernel_943, buf3943, 605184, grid=(1, 2, 3), stream=0)
    buf3944 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3944]
    launch(kernel_944, buf3944, 605184, grid=(1, 2, 3), stream=0)
    buf3945 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3945]
    launch(kernel_945, buf3945, 605184, grid=(1, 2, 3), stream=0)
    buf3946 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3946]
    launch(kernel_946, buf3946, 605184, grid=(1, 2, 3), stream=0)
    buf3947 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3947]
    launch(kernel_947, buf3947, 605184, grid=(1, 2, 3), stream=0)
    buf3948 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3948]
    launch(kernel_948, buf3948, 605184, grid=(1, 2, 3), stream=0)
    buf3949 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3949]
    launch(kernel_949, buf3949, 605184, grid=(1, 2, 3), stream=0)
    buf3950 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3950]
    launch(kernel_950, buf3950, 605184, grid=(1, 2, 3), stream=0)
    buf3951 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3951]
    launch(kernel_951, buf3951, 605184, grid=(1, 2, 3), stream=0)
    buf3952 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3952]
    launch(kernel_952, buf3952, 605184, grid=(1, 2, 3), stream=0)
    buf3953 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3953]
    launch(kernel_953, buf3953, 605184, grid=(1, 2, 3), stream=0)
    buf3954 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3954]
    launch(kernel_954, buf3954, 605184, grid=(1, 2, 3), stream=0)
    buf3955 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3955]
    launch(kernel_955, buf3955, 605184, grid=(1, 2, 3), stream=0)
    buf3956 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3956]
    launch(kernel_956, buf3956, 605184, grid=(1, 2, 3), stream=0)
    buf3957 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3957]
    launch(kernel_957, buf3957, 605184, grid=(1, 2, 3), stream=0)
    buf3958 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3958]
    launch(kernel_958, buf3958, 605184, grid=(1, 2, 3), stream=0)
    buf3959 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3959]
    launch(kernel_959, buf3959, 605184, grid=(1, 2, 3), stream=0)
    buf3960 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3960]
    launch(kernel_960, buf3960, 605184, grid=(1, 2, 3), stream=0)
    buf3961 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3961]
    launch(kernel_961, buf3961, 605184, grid=(1, 2, 3), stream=0)
    buf3962 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3962]
    launch(kernel_962, buf3962, 605184, grid=(1, 2, 3), stream=0)
    buf3963 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3963]
    launch(kernel_963, buf3963, 605184, grid=(1, 2, 3), stream=0)
    buf3964 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3964]
    launch(kernel_964, buf3964, 605184, grid=(1, 2, 3), stream=0)
    buf3965 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3965]
    launch(kernel_965, buf3965, 605184, grid=(1, 2, 3), stream=0)
    buf3966 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3966]
    launch(kernel_966, buf3966, 605184, grid=(1, 2, 3), stream=0)
    buf3967 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3967]
    launch(kernel_967, buf3967, 605184, grid=(1, 2, 3), stream=0)
    buf3968 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3968]
    launch(kernel_968, buf3968, 605184, grid=(1, 2, 3), stream=0)
    buf3969 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3969]
    launch(kernel_969, buf3969, 605184, grid=(1, 2, 3), stream=0)
    buf3970 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3970]
    launch(kernel_970, buf3970, 605184, grid=(1, 2, 3), stream=0)
    buf3971 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3971]
    launch(kernel_971, buf3971, 605184, grid=(1, 2, 3), stream=0)
    buf3972 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3972]
    launch(kernel_972, buf3972, 605184, grid=(1, 2, 3), stream=0)
    buf3973 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3973]
    launch(kernel_973, buf3973, 605184, grid=(1, 2, 3), stream=0)
    buf3974 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3974]
    launch(kernel_974, buf3974, 605184, grid=(1, 2, 3), stream=0)
    buf3975 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3975]
    launch(kernel_975, buf3975, 605184, grid=(1, 2, 3), stream=0)
    buf3976 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3976]
    launch(kernel_976, buf3976, 605184, grid=(1, 2, 3), stream=0)
    buf3977 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3977]
    launch(kernel_977, buf3977, 605184, grid=(1, 2, 3), stream=0)
    buf3978 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3978]
    launch(kernel_978, buf3978, 605184, grid=(1, 2, 3), stream=0)
    buf3979 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3979]
    launch(kernel_979, buf3979, 605184, grid=(1, 2, 3), stream=0)
    buf3980 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3980]
    launch(kernel_980, buf3980, 605184, grid=(1, 2, 3), stream=0)
    buf3981 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3981]
    launch(kernel_981, buf3981, 605184, grid=(1, 2, 3), stream=0)
    buf3982 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3982]
    launch(kernel_982, buf3982, 605184, grid=(1, 2, 3), stream=0)
    buf3983 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3983]
    launch(kernel_983, buf3983, 605184, grid=(1, 2, 3), stream=0)
    buf3984 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3984]
    launch(kernel_984, buf3984, 605184, grid=(1, 2, 3), stream=0)
    buf3985 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3985]
    launch(kernel_985, buf3985, 605184, grid=(1, 2, 3), stream=0)
    buf3986 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3986]
    launch(kernel_986, buf3986, 605184, grid=(1, 2, 3), stream=0)
    buf3987 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3987]
    launch(kernel_987, buf3987, 605184, grid=(1, 2, 3), stream=0)
    buf3988 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3988]
    launch(kernel_988, buf3988, 605184, grid=(1, 2, 3), stream=0)
    buf3989 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3989]
    launch(kernel_989, buf3989, 605184, grid=(1, 2, 3), stream=0)
    buf3990 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3990]
    launch(kernel_990, buf3990, 605184, grid=(1, 2, 3), stream=0)
    buf3991 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3991]
    launch(kernel_991, buf3991, 605184, grid=(1, 2, 3), stream=0)
    buf3992 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3992]
    launch(kernel_992, buf3992, 605184, grid=(1, 2, 3), stream=0)
    buf3993 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3993]
    launch(kernel_993, buf3993, 605184, grid=(1, 2, 3), stream=0)
    buf3994 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3994]
    launch(kernel_994, buf3994, 605184, grid=(1, 2, 3), stream=0)
    buf3995 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3995]
    launch(kernel_995, buf3995, 605184, grid=(1, 2, 3), stream=0)
    buf3996 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3996]
    launch(kernel_996, buf3996, 605184, grid=(1, 2, 3), stream=0)
    buf3997 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3997]
    launch(kernel_997, buf3997, 605184, grid=(1, 2, 3), stream=0)
    buf3998 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3998]
    launch(kernel_998, buf3998, 605184, grid=(1, 2, 3), stream=0)
    buf3999 = empty_strided((8, 197, 384), (75648, 384, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x_3999]
    launch(kernel_999, buf3999, 605184, grid=(1, 2, 3), stream=0)
    return (buf0,)
