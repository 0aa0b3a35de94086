// Memory of other devices than the CPU, for delegates that bring an allocator.
#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/device_memory_buffer.h>

namespace executorch::runtime {

DeviceAllocatorRegistry& DeviceAllocatorRegistry::instance() {
  static DeviceAllocatorRegistry registry;
  return registry;
}

void DeviceAllocatorRegistry::register_allocator(DeviceAllocator* alloc) {
  ET_CHECK_MSG(alloc != nullptr, "No device allocator.");
  const auto type = static_cast<size_t>(alloc->device_type());
  ET_CHECK_MSG(type < etensor::kNumDeviceTypes && allocators_[type] == nullptr,
               "Device %zu is unknown or has an allocator.", type);
  allocators_[type] = alloc;
}

DeviceAllocator* DeviceAllocatorRegistry::get_allocator(etensor::DeviceType type) {
  const auto index = static_cast<size_t>(type);
  return index < etensor::kNumDeviceTypes ? allocators_[index] : nullptr;
}

void register_device_allocator(DeviceAllocator* alloc) {
  DeviceAllocatorRegistry::instance().register_allocator(alloc);
}

DeviceAllocator* get_device_allocator(etensor::DeviceType type) {
  return DeviceAllocatorRegistry::instance().get_allocator(type);
}

Result<DeviceMemoryBuffer> DeviceMemoryBuffer::create(size_t size, etensor::DeviceType type,
                                                      etensor::DeviceIndex index,
                                                      size_t alignment) {
  DeviceAllocator* allocator = get_device_allocator(type);
  ET_CHECK_OR_RETURN_ERROR(allocator != nullptr, NotFound, "Device %d has no allocator.",
                           static_cast<int>(type));
  Result<void*> memory = allocator->allocate(size, index, alignment);
  if (!memory.ok()) return memory.error();
  return DeviceMemoryBuffer(*memory, size, allocator, index);
}

}  // namespace executorch::runtime
