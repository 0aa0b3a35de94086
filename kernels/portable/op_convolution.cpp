// aten::convolution: one and two spatial dimensions, groups, stride, padding, dilation, transposed;
// float32, any dim order.

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

// Parameters for two spatial dimensions; with one, the second is trivial.
struct Geometry {
  int64_t stride[2] = {1, 1};
  int64_t padding[2] = {0, 0};
  int64_t dilation[2] = {1, 1};
  int64_t output_padding[2] = {0, 0};
  bool transposed = false;
  int64_t groups = 1;
};

// A list may have one element for all dimensions.
bool read_list(const Check& check, const ArrayRef<int64_t>& list, const char* name, int64_t low,
               size_t spatial, int64_t* to) {
  constexpr int64_t kLimit = 1 << 20;  // keeps all positions far from overflow
  if (!check.that(list.size() == 1 || list.size() == spatial, "a list has the wrong length")) {
    return false;
  }
  for (size_t i = 0; i < spatial; ++i) {
    to[i] = list[list.size() == 1 ? 0 : i];
    if (!check.range(to[i], name, low, kLimit)) return false;
  }
  return true;
}

// A tensor [N, C, H, W] or [N, C, L] with its sizes and strides as if it had four dimensions.
struct Image {
  explicit Image(const Tensor& tensor) {
    const kernels::View view = kernels::whole(tensor);
    for (size_t i = 0; i < tensor.sizes().size(); ++i) {
      sizes[i] = tensor.sizes()[i];
      strides[i] = view.strides[i];
    }
  }
  int64_t position(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3];
  }
  int64_t sizes[4] = {1, 1, 1, 1};
  int64_t strides[4] = {};
};

struct Operands {
  Image input, weight, out;
  const float* input_data;
  const float* weight_data;
  const float* bias;  // or null
  float* out_data;
};

// The input position that kernel position `k` has for output position `o`; -1 if there is none.
int64_t input_position(const Geometry& g, size_t axis, int64_t o, int64_t k, int64_t limit) {
  int64_t at;
  if (g.transposed) {
    const int64_t scaled = o + g.padding[axis] - k * g.dilation[axis];
    if (scaled < 0 || scaled % g.stride[axis] != 0) return -1;
    at = scaled / g.stride[axis];
  } else {
    at = o * g.stride[axis] - g.padding[axis] + k * g.dilation[axis];
  }
  return at >= 0 && at < limit ? at : -1;
}

float output_element(const Operands& t, const Geometry& g, int64_t n, int64_t channel, int64_t y,
                     int64_t x) {
  const int64_t per_group_out = t.out.sizes[1] / g.groups;
  const int64_t per_group_in = t.input.sizes[1] / g.groups;
  const int64_t group = channel / per_group_out;
  float sum = t.bias == nullptr ? 0.0f : t.bias[channel];
  for (int64_t ky = 0; ky < t.weight.sizes[2]; ++ky) {
    const int64_t iy = input_position(g, 0, y, ky, t.input.sizes[2]);
    if (iy < 0) continue;
    for (int64_t kx = 0; kx < t.weight.sizes[3]; ++kx) {
      const int64_t ix = input_position(g, 1, x, kx, t.input.sizes[3]);
      if (ix < 0) continue;
      for (int64_t c = 0; c < per_group_in; ++c) {
        const int64_t from = group * per_group_in + c;
        const int64_t w = g.transposed
                              ? t.weight.position(from, channel - group * per_group_out, ky, kx)
                              : t.weight.position(channel, c, ky, kx);
        sum = std::fma(t.input_data[t.input.position(n, from, iy, ix)], t.weight_data[w], sum);
      }
    }
  }
  return sum;
}

int64_t output_size(const Geometry& g, size_t axis, int64_t input, int64_t kernel) {
  const int64_t reach = g.dilation[axis] * (kernel - 1) + 1;
  if (g.transposed) {
    return (input - 1) * g.stride[axis] - 2 * g.padding[axis] + reach + g.output_padding[axis];
  }
  const int64_t room = input + 2 * g.padding[axis] - reach;
  return room < 0 ? -1 : room / g.stride[axis] + 1;
}

bool check_channels(const Check& check, const Tensor& input, const Tensor& weight,
                    const Geometry& g) {
  const int64_t channels = input.sizes()[1];
  const int64_t first = weight.sizes()[0];
  return g.transposed ? check.equal(first, "channels of weight", channels) &&
                            check.equal(channels % g.groups, "channels modulo groups", 0)
                      : check.equal(weight.sizes()[1] * g.groups, "channels of weight", channels) &&
                            check.equal(first % g.groups, "out channels modulo groups", 0);
}

bool resize_out(const Check& check, const Tensor& input, const Tensor& weight, const Geometry& g,
                Tensor& out) {
  kernels::Shape shape = kernels::shape_of(input);
  constexpr int64_t kMost = std::numeric_limits<SizesType>::max();
  const int64_t channels = weight.sizes()[g.transposed ? 1 : 0];
  const int64_t groups = g.transposed ? g.groups : 1;
  if (!check.range(groups, "groups", 1, kMost / std::max<int64_t>(channels, 1))) return false;
  shape.dims[1] = static_cast<SizesType>(channels * groups);
  for (size_t i = 2; i < shape.rank; ++i) {
    const int64_t size = output_size(g, i - 2, input.sizes()[i], weight.sizes()[i]);
    if (!check.range(size, "size of the result", 0, kMost)) {
      return false;
    }
    shape.dims[i] = static_cast<SizesType>(size);
  }
  return check.resize(out, shape.sizes());
}

}  // namespace

Tensor& convolution_out(KernelRuntimeContext& context, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const ArrayRef<int64_t>& stride,
                        const ArrayRef<int64_t>& padding, const ArrayRef<int64_t>& dilation,
                        bool transposed, const ArrayRef<int64_t>& output_padding, int64_t groups,
                        Tensor& out) {
  const Check check(context, "convolution");
  Geometry g;
  g.transposed = transposed;
  g.groups = groups;
  const size_t rank = input.sizes().size();
  if (!check.range(static_cast<int64_t>(rank), "rank of input", 3, 4) ||
      !check.equal(static_cast<int64_t>(weight.sizes().size()), "rank of weight",
                   static_cast<int64_t>(rank)) ||
      !check.tensor(input, "input", ScalarType::Float) ||
      !check.tensor(weight, "weight", ScalarType::Float) ||
      !check.range(groups, "groups", 1, std::numeric_limits<SizesType>::max()) ||
      !read_list(check, stride, "stride", 1, rank - 2, g.stride) ||
      !read_list(check, padding, "padding", 0, rank - 2, g.padding) ||
      !read_list(check, dilation, "dilation", 1, rank - 2, g.dilation) ||
      (transposed &&
       !read_list(check, output_padding, "output_padding", 0, rank - 2, g.output_padding)) ||
      !check_channels(check, input, weight, g) || !resize_out(check, input, weight, g, out) ||
      !check.tensor(out, "out", ScalarType::Float) ||
      (bias && (!check.tensor(*bias, "bias", ScalarType::Float) ||
                !check.equal(bias->numel(), "elements of bias", out.sizes()[1]))) ||
      out.numel() == 0) {
    return out;
  }
  const Operands t{Image(input),
                   Image(weight),
                   Image(out),
                   input.const_data_ptr<float>(),
                   weight.const_data_ptr<float>(),
                   bias ? bias->const_data_ptr<float>() : nullptr,
                   out.mutable_data_ptr<float>()};
  for (int64_t n = 0; n < t.out.sizes[0]; ++n) {
    for (int64_t c = 0; c < t.out.sizes[1]; ++c) {
      for (int64_t y = 0; y < t.out.sizes[2]; ++y) {
        for (int64_t x = 0; x < t.out.sizes[3]; ++x) {
          t.out_data[t.out.position(n, c, y, x)] = output_element(t, g, n, c, y, x);
        }
      }
    }
  }
  return out;
}

}  // namespace portable::native
