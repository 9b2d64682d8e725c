" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
" Vim syntax of tile kernels (.tl): Python's, and the names of Triton's language.
" Made by scripts/gen-editors from frontend/builtins.def.
if exists('b:current_syntax')
    finish
endif
runtime! syntax/python.vim
unlet! b:current_syntax

" # tile: grid = cdiv(n, BLOCK)
syn match tileDirective /#\s*tile:\s*\h\w*\s*=.*$/
" "*fp16:16" behind a parameter
syn match tileType /:\s*\zs["']\*\{0,2}[a-z][a-z0-9]*\%(:\d\+\)\=["']/
syn match tileAccess /\.\ze\h\w*\s*(/ nextgroup=tileMethod
syn match tileModule /\<\%(triton\|language\|tl\|math\|extra\|cuda\|libdevice\)\./ nextgroup=tileModule,tileBuiltin,tileDtype
syn keyword tileBuiltin contained Config _experimental_make_tensor_descriptor abs acos acosh add add_rn advance arange argmax
syn keyword tileBuiltin contained argmin asin asinh associative_scan assume atan atan2 atanh atomic_add atomic_and atomic_cas
syn keyword tileBuiltin contained atomic_max atomic_min atomic_or atomic_xchg atomic_xor bitonic_merge brev broadcast broadcast_to
syn keyword tileBuiltin contained cast cat cbrt cdiv ceil clamp clz condition constexpr copysign cos cosh cospi cumprod cumsum
syn keyword tileBuiltin contained debug_barrier device_assert device_print div_rn dot double2float_rn double2int_rd double2int_rn
syn keyword tileBuiltin contained double2int_ru double2int_rz double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2uint_rd
syn keyword tileBuiltin contained double2uint_rn double2uint_ru double2uint_rz double2ull_rd double2ull_rn double2ull_ru
syn keyword tileBuiltin contained double2ull_rz double_as_longlong dtype erf erfc erfinv exp exp10 exp2 expand_dims expm1 fast_cosf
syn keyword tileBuiltin contained fast_dividef fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_powf fast_sinf fast_tanf
syn keyword tileBuiltin contained fast_tanhf fdim fdiv ffs finitef flip float2int_rd float2int_rn float2int_ru float2int_rz
syn keyword tileBuiltin contained float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2uint_rd float2uint_rn float2uint_ru
syn keyword tileBuiltin contained float2uint_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz float_as_int float_as_uint
syn keyword tileBuiltin contained floor fma fma_rn fmod full gather gdc_launch_dependents gdc_wait globaltimer hadd histogram hypot
syn keyword tileBuiltin contained ilogb inline_asm_elementwise int2double_rn int2float_rn int_as_float interleave isfinited isinf
syn keyword tileBuiltin contained isnan item join ldexp ll2double_rn ll2float_rn llrint llround load load_tensor_descriptor log
syn keyword tileBuiltin contained log10 log1p log2 logb longlong_as_double make_block_ptr make_tensor_descriptor map_elementwise
syn keyword tileBuiltin contained max max_constancy max_contiguous maximum min minimum mul mul24 mul_rn mulhi multiple_of
syn keyword tileBuiltin contained nearbyint next_power_of_2 nextafter norm3d norm4d normcdf num_programs num_threads num_warps
syn keyword tileBuiltin contained pair_uniform_to_normal permute philox philox_impl pointer_type popc pow program_id rand rand4x
syn keyword tileBuiltin contained randint randint4x randn randn4x range ravel rcbrt rcp_rn reduce reduce_or reshape rhadd rhypot
syn keyword tileBuiltin contained rint rnorm3d rnorm4d round rsqrt rsqrt_rn sad saturatef scalbn sigmoid signbit sin sinh sinpi
syn keyword tileBuiltin contained smid softmax sort split sqrt sqrt_rn squeeze static_assert static_print static_range store
syn keyword tileBuiltin contained store_tensor_descriptor sub sub_rn sum swizzle2d tan tanh tensor tensor_descriptor to_tensor topk
syn keyword tileBuiltin contained trans trunc tuple uint2double_rn uint2float_rn uint_as_float uint_to_uniform_float ull2double_rn
syn keyword tileBuiltin contained ull2float_rn umulhi unsqueeze view where xor_sum zeros zeros_like
syn keyword tileMethod contained abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_max atomic_min
syn keyword tileMethod contained atomic_or atomic_xchg atomic_xor broadcast broadcast_to cast cdiv ceil cos cumprod cumsum erf
syn keyword tileMethod contained exp exp2 expand_dims flip floor gather histogram is_bf16 is_block is_bool is_floating is_fp16
syn keyword tileMethod contained is_fp32 is_fp64 is_fp8 is_fp8e4nv is_fp8e5 is_int is_int1 is_int16 is_int32 is_int64 is_int8
syn keyword tileMethod contained is_int_signed is_int_unsigned is_ptr is_standard_floating is_uint16 is_uint32 is_uint64 is_uint8
syn keyword tileMethod contained item join load log log2 logical_and logical_or max min permute ravel reduce reduce_or reshape
syn keyword tileMethod contained rsqrt scatter sigmoid sin softmax sort split sqrt sqrt_rn squeeze store sum to topk trans
syn keyword tileMethod contained unsqueeze view xor_sum
syn keyword tileDtype contained int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16
syn keyword tileDtype contained float8e4nv float8e5

hi def link tileDirective PreProc
hi def link tileType Type
hi def link tileBuiltin Function
hi def link tileMethod Function
hi def link tileDtype Type
let b:current_syntax = 'tile'
