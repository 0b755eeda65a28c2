//! A file that has nothing to do with GPUs: statements without operands are for its processor.
unsafe fn elsewhere() {
    asm!("fence.proxy.asyn;");
}
