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
syn keyword tileBuiltin contained Config _argmax_combine _argmax_combine_tie_break_fast _argmax_combine_tie_break_left
syn keyword tileBuiltin contained _argmin_combine _argmin_combine_tie_break_fast _argmin_combine_tie_break_left _constexpr_to_value
syn keyword tileBuiltin contained _elementwise_max _elementwise_min _experimental_make_tensor_descriptor _is_power_of_two
syn keyword tileBuiltin contained _log2 _or_combine _prod_combine _sum_combine _unwrap_if_constexpr _xor_combine abs acos
syn keyword tileBuiltin contained acosh add add_rd add_rn add_ru add_rz advance aggregate_replace arange argmax argmin asin
syn keyword tileBuiltin contained asinh associative_scan assume atan atan2 atanh atomic_add atomic_and atomic_cas atomic_load
syn keyword tileBuiltin contained atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor bitonic_merge
syn keyword tileBuiltin contained block_type brev broadcast broadcast_to byte_perm cast cat cbrt cdiv ceil clamp clz condition
syn keyword tileBuiltin contained constexpr constexpr_function constexpr_type copysign cos cosh cospi cumprod cumsum cyl_bessel_i0
syn keyword tileBuiltin contained cyl_bessel_i1 debug_barrier device_assert device_print div_rd div_rn div_ru div_rz dot dot_scaled
syn keyword tileBuiltin contained double2float_rd double2float_rn double2float_ru double2float_rz double2hiint double2int_rd
syn keyword tileBuiltin contained double2int_rn double2int_ru double2int_rz double2ll_rd double2ll_rn double2ll_ru double2ll_rz
syn keyword tileBuiltin contained double2loint double2uint_rd double2uint_rn double2uint_ru double2uint_rz double2ull_rd
syn keyword tileBuiltin contained double2ull_rn double2ull_ru double2ull_rz double_as_longlong dtype erf erfc erfcinv erfcx
syn keyword tileBuiltin contained erfinv exp exp10 exp2 expand_dims expect_zero expm1 fast_cosf fast_dividef fast_exp10f fast_expf
syn keyword tileBuiltin contained fast_log10f fast_log2f fast_logf fast_powf fast_sinf fast_tanf fast_tanhf fdim fdiv ffs finitef
syn keyword tileBuiltin contained flip float2int_rd float2int_rn float2int_ru float2int_rz float2ll_rd float2ll_rn float2ll_ru
syn keyword tileBuiltin contained float2ll_rz float2uint_rd float2uint_rn float2uint_ru float2uint_rz float2ull_rd float2ull_rn
syn keyword tileBuiltin contained float2ull_ru float2ull_rz float_as_int float_as_uint floor fma fma_rd fma_rn fma_ru fma_rz fmod
syn keyword tileBuiltin contained full gather gdc_launch_dependents gdc_wait get_int_dtype get_primitive_bitwidth globaltimer
syn keyword tileBuiltin contained hadd hiloint2double histogram hypot ilogb inline_asm_elementwise int2double_rn int2float_rd
syn keyword tileBuiltin contained int2float_rn int2float_ru int2float_rz int_as_float interleave isfinited isinf isnan item j0 j1
syn keyword tileBuiltin contained jn join ldexp lgamma ll2double_rd ll2double_rn ll2double_ru ll2double_rz ll2float_rd ll2float_rn
syn keyword tileBuiltin contained ll2float_ru ll2float_rz llrint llround load load_tensor_descriptor log log10 log1p log2 logb
syn keyword tileBuiltin contained longlong_as_double make_block_ptr make_tensor_descriptor map_elementwise max max_constancy
syn keyword tileBuiltin contained max_contiguous maximum min minimum mul mul24 mul_rd mul_rn mul_ru mul_rz mulhi multiple_of
syn keyword tileBuiltin contained nearbyint next_power_of_2 nextafter norm3d norm4d normcdf normcdfinv num_programs num_threads
syn keyword tileBuiltin contained num_warps pair_uniform_to_normal permute philox philox_impl pointer_type popc pow program_id
syn keyword tileBuiltin contained rand rand4x randint randint4x randn randn4x range ravel rcbrt rcp64h rcp_rd rcp_rn rcp_ru rcp_rz
syn keyword tileBuiltin contained reduce reduce_or remainder reshape rhadd rhypot rint rnorm3d rnorm4d round rsqrt rsqrt_rn sad
syn keyword tileBuiltin contained saturatef scalbn sigmoid signbit sin sinh sinpi slice smid softmax sort split sqrt sqrt_rd sqrt_rn
syn keyword tileBuiltin contained sqrt_ru sqrt_rz squeeze static_assert static_print static_range store store_tensor_descriptor
syn keyword tileBuiltin contained str_to_ty sub sub_rd sub_rn sub_ru sub_rz sum swizzle2d tan tanh tensor tensor_descriptor
syn keyword tileBuiltin contained tensor_descriptor_base tgamma to_tensor topk trans trunc tuple tuple_type uint2double_rn
syn keyword tileBuiltin contained uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float uint_to_uniform_float
syn keyword tileBuiltin contained ull2double_rd ull2double_rn ull2double_ru ull2double_rz ull2float_rd ull2float_rn ull2float_ru
syn keyword tileBuiltin contained ull2float_rz umulhi unsqueeze view where xor_sum y0 y1 yn zeros zeros_like
syn keyword tileMethod contained abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_load
syn keyword tileMethod contained atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor broadcast
syn keyword tileMethod contained broadcast_to cast cdiv ceil codegen_name cos cumprod cumsum erf exp exp2 expand_dims flip floor
syn keyword tileMethod contained gather get_block_shapes get_int_max_value get_int_min_value histogram is_bf16 is_block is_bool
syn keyword tileMethod contained is_const is_floating is_fp16 is_fp32 is_fp64 is_fp8 is_fp8e4b15 is_fp8e4b8 is_fp8e4nv is_fp8e5
syn keyword tileMethod contained is_fp8e5b16 is_int is_int1 is_int16 is_int32 is_int64 is_int8 is_int_signed is_int_unsigned
syn keyword tileMethod contained is_ptr is_standard_floating is_uint16 is_uint32 is_uint64 is_uint8 item join kind load log log2
syn keyword tileMethod contained logical_and logical_or max min permute ravel reduce reduce_or reshape rsqrt scatter sigmoid sin
syn keyword tileMethod contained softmax sort split sqrt sqrt_rn squeeze store sum to topk trans unsqueeze view with_element_ty
syn keyword tileMethod contained xor_sum
syn keyword tileDtype contained int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16
syn keyword tileDtype contained float8e4nv float8e5

hi def link tileDirective PreProc
hi def link tileType Type
hi def link tileBuiltin Function
hi def link tileMethod Function
hi def link tileDtype Type
let b:current_syntax = 'tile'
