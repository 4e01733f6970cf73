// The one function of bcryptprimitives.dll that Rust's standard library imports. Wine 8 does not have it; every Windows since 8 has.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length) {
  return length <= 0xffffffff && SystemFunction036(buffer, (ULONG)length);
}
