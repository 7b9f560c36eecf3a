;; The driver guest: passes every import through, and looks at and changes its own memory.
;; Ids come with bits to turn over, so that a saved id can be passed in a changed form.
(module
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_load_ptx"
    (func $load_ptx (param i32 i32 i32 i32) (result i64)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_launch"
    (func $launch (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_sync"
    (func $sync (result i32)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_last_error_len"
    (func $last_error_len (result i32)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_last_error_copy"
    (func $last_error_copy (param i32 i32) (result i32)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_alloc"
    (func $alloc (param i32 i32) (result i64)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_free"
    (func $free (param i32 i32) (result i32)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_h2d"
    (func $memcpy_h2d (param i32 i32 i32 i32) (result i32)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_d2h"
    (func $memcpy_d2h (param i32 i32 i32 i32) (result i32)))
  @MEMORY@
@DATA@
  (func (export "load_ptx")
    (param $ptx i32) (param $ptx_len i32) (param $entry i32) (param $entry_len i32) (result i64)
    (call $load_ptx (local.get $ptx) (local.get $ptx_len) (local.get $entry) (local.get $entry_len)))

  (func (export "launch")
    (param $kernel i64) (param $flip i64)
    (param $grid_x i32) (param $grid_y i32) (param $grid_z i32)
    (param $block_x i32) (param $block_y i32) (param $block_z i32)
    (param $shared i32) (param $args i32) (param $args_len i32) (result i32)
    (call $launch
      (i64.xor (local.get $kernel) (local.get $flip))
      (local.get $grid_x) (local.get $grid_y) (local.get $grid_z)
      (local.get $block_x) (local.get $block_y) (local.get $block_z)
      (local.get $shared) (local.get $args) (local.get $args_len)))

  (func (export "sync") (result i32)
    (call $sync))

  (func (export "last_error_len") (result i32)
    (call $last_error_len))

  (func (export "last_error_copy") (param $to i32) (param $len i32) (result i32)
    (call $last_error_copy (local.get $to) (local.get $len)))

  (func (export "alloc") (param $low i32) (param $high i32) (result i64)
    (call $alloc (local.get $low) (local.get $high)))

  (func (export "free") (param $handle i64) (param $flip i64) (result i32)
    (local.set $handle (i64.xor (local.get $handle) (local.get $flip)))
    (call $free (call $low (local.get $handle)) (call $high (local.get $handle))))

  (func (export "memcpy_h2d")
    (param $handle i64) (param $flip i64) (param $from i32) (param $len i32) (result i32)
    (local.set $handle (i64.xor (local.get $handle) (local.get $flip)))
    (call $memcpy_h2d
      (call $low (local.get $handle)) (call $high (local.get $handle))
      (local.get $from) (local.get $len)))

  (func (export "memcpy_d2h")
    (param $to i32) (param $handle i64) (param $flip i64) (param $len i32) (result i32)
    (local.set $handle (i64.xor (local.get $handle) (local.get $flip)))
    (call $memcpy_d2h
      (local.get $to)
      (call $low (local.get $handle)) (call $high (local.get $handle))
      (local.get $len)))

  (func $low (param $number i64) (result i32)
    (i32.wrap_i64 (local.get $number)))

  (func $high (param $number i64) (result i32)
    (i32.wrap_i64 (i64.shr_u (local.get $number) (i64.const 32))))

  ;; What the last load or allocation of many answered, if it was refused.
  (global $refusal (mut i64) (i64.const 0))

  ;; Allocates until one is refused, keeps the handles at @BULK@, and says how many there are.
  (func (export "alloc_many") (param $count i32) (param $low i32) (param $high i32) (result i32)
    (local $done i32)
    (global.set $refusal (i64.const 0))
    (block $out
      (loop $next
        (br_if $out (i32.ge_u (local.get $done) (local.get $count)))
        (br_if $out (call $keep (local.get $done) (call $alloc (local.get $low) (local.get $high))))
        (local.set $done (i32.add (local.get $done) (i32.const 1)))
        (br $next)))
    (local.get $done))

  (func (export "load_many")
    (param $count i32)
    (param $ptx i32) (param $ptx_len i32) (param $entry i32) (param $entry_len i32) (result i32)
    (local $done i32)
    (global.set $refusal (i64.const 0))
    (block $out
      (loop $next
        (br_if $out (i32.ge_u (local.get $done) (local.get $count)))
        (br_if $out
          (call $keep
            (local.get $done)
            (call $load_ptx
              (local.get $ptx) (local.get $ptx_len) (local.get $entry) (local.get $entry_len))))
        (local.set $done (i32.add (local.get $done) (i32.const 1)))
        (br $next)))
    (local.get $done))

  ;; Puts an id where those of many go; 1 if it is none.
  (func $keep (param $index i32) (param $id i64) (result i32)
    (if (i64.lt_s (local.get $id) (i64.const 0))
      (then
        (global.set $refusal (local.get $id))
        (return (i32.const 1))))
    (i64.store
      (i32.add (i32.const @BULK@) (i32.shl (local.get $index) (i32.const 3)))
      (local.get $id))
    (i32.const 0))

  (func (export "refusal") (result i64)
    (global.get $refusal))

  (func (export "grow") (result i32)
    (memory.grow (i32.const 1)))

  (func (export "poke") (param $at i32) (param $value i64)
    (i64.store (local.get $at) (local.get $value)))

  (func (export "poke8") (param $at i32) (param $value i32)
    (i32.store8 (local.get $at) (local.get $value)))

  (func (export "peek") (param $at i32) (result i64)
    (i64.load (local.get $at)))

  (func (export "peek8") (param $at i32) (result i32)
    (i32.load8_u (local.get $at)))

  ;; What is judged holds for a host whose earlier answers were like those of the host it was found on; on any other
  ;; there is nothing to judge. An answer is like 0 if it is no refusal, like -1 or -5 if it is that, and like -12 if it
  ;; is another refusal.
  (global $given (mut i32) (i32.const 1))

  (func $given_id (export "given_id") (param $answer i64) (param $like i64) (result i32)
    (local $class i64)
    (if (i64.lt_s (local.get $answer) (i64.const 0))
      (then
        (local.set $class
          (select
            (local.get $answer)
            (i64.const -12)
            (i32.or
              (i64.eq (local.get $answer) (i64.const -1))
              (i64.eq (local.get $answer) (i64.const -5)))))))
    (global.set $given
      (i32.and (global.get $given) (i64.eq (local.get $class) (local.get $like))))
    (global.get $given))

  (func (export "given") (param $answer i32) (param $like i32) (result i32)
    (call $given_id
      (i64.extend_i32_s (local.get $answer)) (i64.extend_i32_s (local.get $like))))

  (func (export "given_more") (param $answer i32) (param $than i32) (result i32)
    (global.set $given
      (i32.and (global.get $given) (i32.gt_s (local.get $answer) (local.get $than))))
    (global.get $given))

  (func $unless_given (param $holds i32) (result i32)
    (i32.or (local.get $holds) (i32.eqz (global.get $given))))

  ;; Whether the answer is one of the codes, a bit for each, or within the bounds.
  (func $judge (export "judge_id")
    (param $answer i64) (param $codes i64) (param $low i64) (param $high i64) (result i32)
    (if (i64.lt_s (local.get $answer) (i64.const 0))
      (then
        (return
          (call $unless_given
            (i32.and
              (i64.ge_s (local.get $answer) (i64.const -11))
              (i32.wrap_i64
                (i64.and
                  (i64.const 1)
                  (i64.shr_u
                    (local.get $codes)
                    (i64.sub (i64.const 0) (local.get $answer))))))))))
    (call $unless_given
      (i32.and
        (i64.ge_s (local.get $answer) (local.get $low))
        (i64.le_s (local.get $answer) (local.get $high)))))

  (func $judge_short (export "judge")
    (param $answer i32) (param $codes i32) (param $low i32) (param $high i32) (result i32)
    (call $judge
      (i64.extend_i32_s (local.get $answer)) (i64.extend_i32_s (local.get $codes))
      (i64.extend_i32_s (local.get $low)) (i64.extend_i32_s (local.get $high))))

  ;; The length that was told, or as much of it as there is room for.
  (func $in_room (param $told i32) (param $room i32) (result i32)
    (select
      (local.get $told)
      (local.get $room)
      (i32.lt_u (local.get $told) (local.get $room))))

  ;; Whether the answer is one of the codes, or the told length cut to the room.
  (func (export "cut")
    (param $answer i32) (param $codes i32) (param $told i32) (param $room i32) (result i32)
    (local.set $told (call $in_room (local.get $told) (local.get $room)))
    (call $judge_short
      (local.get $answer) (local.get $codes) (local.get $told) (local.get $told)))

  ;; As `cut`, for a length of which only that much was told.
  (func (export "reaches")
    (param $answer i32) (param $codes i32) (param $told i32) (param $room i32) (param $most i32)
    (result i32)
    (local.set $told (call $in_room (local.get $told) (local.get $room)))
    (call $judge_short
      (local.get $answer) (local.get $codes) (local.get $told) (local.get $most)))

  (func (export "different") (param $a i64) (param $b i64) (result i32)
    (call $unless_given (i64.ne (local.get $a) (local.get $b))))

  (func (export "same") (param $a i32) (param $b i32) (result i32)
    (call $unless_given (i32.eq (local.get $a) (local.get $b))))

  (func (export "between") (param $value i32) (param $low i32) (param $high i32) (result i32)
    (call $judge_short
      (local.get $value) (i32.const 0) (local.get $low) (local.get $high)))

  ;; A digest of pages of 4096 bytes: four lanes of words in each, then the lanes, then the pages. The innermost
  ;; mixing is written out, since an engine that does not inline spends most of a run here.
  (func (export "digest") (param $at i32) (param $pages i32) (result i64)
    (local $a i64) (local $b i64) (local $c i64) (local $d i64) (local $end i32) (local $whole i64)
    (block $out
      (loop $page
        (br_if $out (i32.eqz (local.get $pages)))
        (local.set $a (i64.const 1))
        (local.set $b (i64.const 2))
        (local.set $c (i64.const 3))
        (local.set $d (i64.const 4))
        (local.set $end (i32.add (local.get $at) (i32.const 4096)))
        (loop $words
          (local.set $a
            (i64.rotl
              (i64.mul (i64.xor (local.get $a) (i64.load (local.get $at))) (i64.const @PRIME@))
              (i64.const 29)))
          (local.set $b
            (i64.rotl
              (i64.mul (i64.xor (local.get $b) (i64.load offset=8 (local.get $at))) (i64.const @PRIME@))
              (i64.const 29)))
          (local.set $c
            (i64.rotl
              (i64.mul (i64.xor (local.get $c) (i64.load offset=16 (local.get $at))) (i64.const @PRIME@))
              (i64.const 29)))
          (local.set $d
            (i64.rotl
              (i64.mul (i64.xor (local.get $d) (i64.load offset=24 (local.get $at))) (i64.const @PRIME@))
              (i64.const 29)))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (br_if $words (i32.ne (local.get $at) (local.get $end))))
        (local.set $a (call $mix (local.get $a) (local.get $b)))
        (local.set $a (call $mix (local.get $a) (local.get $c)))
        (local.set $a (call $mix (local.get $a) (local.get $d)))
        (local.set $whole (call $mix (local.get $whole) (local.get $a)))
        (local.set $pages (i32.sub (local.get $pages) (i32.const 1)))
        (br $page)))
    (local.get $whole))

  (func $mix (param $whole i64) (param $part i64) (result i64)
    (i64.rotl
      (i64.mul (i64.xor (local.get $whole) (local.get $part)) (i64.const @PRIME@))
      (i64.const 29))))
