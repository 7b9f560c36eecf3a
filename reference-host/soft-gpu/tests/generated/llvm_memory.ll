; Spaces, atomics, orderings, wide integers, a switch.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

@cells = internal addrspace(3) global [64 x i32] undef, align 16
@table = addrspace(4) constant [3 x float] [float 1.0, float 2.0, float 3.0]
@elsewhere = external addrspace(1) global i32
@weakly = weak addrspace(1) global i32 5
@shared_name = common addrspace(1) global i32 0
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @memory(ptr addrspace(1) %out, i128 %wide, <4 x float> %v, i1 %flag, i8 %b) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = alloca [8 x i32]
  %which = and i32 %t, 7
  %mine = getelementptr [8 x i32], ptr %own, i32 0, i32 %which
  store i32 %t, ptr %mine
  %cell = getelementptr [64 x i32], ptr addrspace(3) @cells, i32 0, i32 %t
  store i32 %t, ptr addrspace(3) %cell
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %twin = xor i32 %t, 1
  %other = getelementptr [64 x i32], ptr addrspace(3) @cells, i32 0, i32 %twin
  %seen = load i32, ptr addrspace(3) %other
  %old = atomicrmw add ptr addrspace(1) @shared_name, i32 1 monotonic
  %swap = cmpxchg ptr addrspace(1) @weakly, i32 5, i32 6 acq_rel monotonic
  %square = mul i128 %wide, %wide
  %high = lshr i128 %square, 64
  %top = trunc i128 %high to i32
  %lane2 = extractelement <4 x float> %v, i32 2
  %scaled = fmul float %lane2, 2.0
  %whole = fptosi float %scaled to i32
  %again = load i32, ptr %mine
  %picked = select i1 %flag, i32 %again, i32 0
  %byte = sext i8 %b to i32
  %three = urem i32 %t, 3
  switch i32 %three, label %two [ i32 0, label %zero
                                  i32 1, label %one ]
zero:
  br label %join
one:
  br label %join
two:
  br label %join
join:
  %chosen = phi i32 [ 100, %zero ], [ 200, %one ], [ 300, %two ]
  %place = getelementptr [3 x float], ptr addrspace(4) @table, i32 0, i32 %three
  %constant = load float, ptr addrspace(4) %place
  %fixed = fptoui float %constant to i32
  %s1 = add i32 %seen, %top
  %s2 = add i32 %s1, %whole
  %s3 = add i32 %s2, %picked
  %s4 = add i32 %s3, %byte
  %s5 = add i32 %s4, %chosen
  %s6 = add i32 %s5, %fixed
  fence seq_cst
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store atomic i32 %s6, ptr addrspace(1) %to release, align 4
  ret void
}
