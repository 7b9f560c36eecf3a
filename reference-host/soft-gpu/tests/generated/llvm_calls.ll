; Calls of all kinds: structures by value and as results, recursion, by address, one that does not return.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

%Record = type { i32, i64, double }
@numbers = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@functions = addrspace(1) global [2 x ptr] [ptr @next, ptr @sevenfold]
@packed = addrspace(1) global { i8, ptr, i32 } { i8 1, ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @numbers, i32 0, i32 2) to ptr), i32 5 }

define i32 @next(i32 %x) noinline {
  %r = add i32 %x, 1
  ret i32 %r
}
define i32 @sevenfold(i32 %x) noinline {
  %r = mul i32 %x, 7
  ret i32 %r
}
define %Record @make(i32 %x, i64 %y) noinline {
  %a = insertvalue %Record undef, i32 %x, 0
  %b = insertvalue %Record %a, i64 %y, 1
  %c = insertvalue %Record %b, double 1.5, 2
  ret %Record %c
}
define double @consume(ptr byval(%Record) align 8 %s) noinline {
  %field = getelementptr %Record, ptr %s, i32 0, i32 1
  %whole = load i64, ptr %field
  %part = getelementptr %Record, ptr %s, i32 0, i32 2
  %v = load double, ptr %part
  store double 3.0, ptr %part
  %w = sitofp i64 %whole to double
  %r = fmul double %v, %w
  ret double %r
}
define i32 @fibonacci(i32 %n) noinline {
  %small = icmp ult i32 %n, 2
  br i1 %small, label %done, label %more
done:
  ret i32 %n
more:
  %n1 = sub i32 %n, 1
  %a = call i32 @fibonacci(i32 %n1)
  %n2 = sub i32 %n, 2
  %b = call i32 @fibonacci(i32 %n2)
  %s = add i32 %a, %b
  ret i32 %s
}
declare void @llvm.trap()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @give_up() noreturn noinline {
  call void @llvm.trap()
  unreachable
}
define ptx_kernel void @calls(ptr addrspace(1) %out, i32 %base, %Record %record) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = add i32 %t, %base
  %odd = and i32 %n, 1
  %slot = getelementptr [2 x ptr], ptr addrspace(1) @functions, i32 0, i32 %odd
  %f = load ptr, ptr addrspace(1) %slot
  %r = call i32 %f(i32 %n)
  %w = sext i32 %r to i64
  %s = call %Record @make(i32 %r, i64 %w)
  %place = alloca %Record
  store %Record %s, ptr %place
  %d = call double @consume(ptr byval(%Record) align 8 %place)
  %small = and i32 %n, 7
  %q = call i32 @fibonacci(i32 %small)
  %e = fptosi double %d to i32
  %z = add i32 %e, %q
  %field = getelementptr { i8, ptr, i32 }, ptr addrspace(1) @packed, i32 0, i32 1
  %p = load ptr, ptr addrspace(1) %field
  %three = load i32, ptr %p
  %z3 = add i32 %z, %three
  %given = extractvalue %Record %record, 0
  %sum = add i32 %z3, %given
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %sum, ptr addrspace(1) %to
  %big = icmp sgt i32 %n, 1000
  br i1 %big, label %bad, label %good
bad:
  call void @give_up()
  unreachable
good:
  ret void
}
