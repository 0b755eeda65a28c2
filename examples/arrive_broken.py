"""An arrival on a barrier from Python, with a mistake that ptxas reports when the kernel is compiled."""

from cutlass._mlir.dialects import llvm


def arrive(bar, *, loc=None, ip=None):
    llvm.inline_asm(
        None,
        [bar.ir_value(loc=loc, ip=ip)],
        "mbarrier.arrive.release.cta.shared::cta.b64 [$0];",
        "r",
        has_side_effects=True,
        loc=loc,
        ip=ip,
    )
