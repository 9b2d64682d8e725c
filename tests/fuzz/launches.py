# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""launches.py: files of kernels and what they are launched with -> what the launches store, by libtile_runtime's C API
in a process that does many: it keeps devices, modules and buffers. The process begins as

    launches.py LIBRARY INPUTS

reads a request in each line (JSON: file, kernel, device, checks, and buffers, each with its name, type and bytes; n) and
answers in one: {"said": what went wrong or nothing, "stored": a hash of each buffer of zeros}. INPUTS is a folder with
NAME.npy for each input, read-only to all kernels. Launcher is the other end: an answer, whatever becomes of the process."""
import ctypes
import hashlib
import json
import os
import select
import subprocess
import sys
import tempfile
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_ubyte, c_void_p
from pathlib import Path

I32, POINTER_TYPE = 4, 16  # of tile_type
FEW = 4  # modules of a device that are kept
REPORTED = 9  # exit code


class Arg(ctypes.Structure):  # tile_arg, of an integer or an address
    _fields_ = [("type", c_int), ("element", c_int), ("value", c_uint64)]


class Param(ctypes.Structure):  # tile_kernel_param
    _fields_ = [("name", c_char_p), ("type_text", c_char_p), ("type", c_int), ("element", c_int), ("divisible", c_int64),
                ("has_equals", c_int), ("equals", c_int64), ("none", c_int)]  # fmt: skip


class Refused(Exception):
    pass


def elements(path):
    """The elements of a .npy file, as bytes."""
    data = path.read_bytes()
    wide = data[6] > 1
    return data[(12 if wide else 10) + int.from_bytes(data[8:12 if wide else 10], "little"):]


class Device:
    def __init__(self, library, name):
        self.lib, self.ctx, self.modules, self.inputs, self.free = library, c_void_p(), {}, {}, {}
        self.must(library.tile_context_create(name.encode(), byref(self.ctx)))

    def must(self, status):
        if status:
            raise Refused(f"{self.lib.tile_status_text(status).decode()}: {(self.lib.tile_error(self.ctx) or b'').decode(errors='replace')}")

    def module(self, file):
        """The module of a file as it is now."""
        stat = os.stat(file)
        key = file, stat.st_mtime_ns, stat.st_size, stat.st_ino
        if key not in self.modules:
            while len(self.modules) >= FEW:
                self.lib.tile_module_unload(self.modules.pop(next(iter(self.modules))))
            module = c_void_p()
            self.must(self.lib.tile_module_load_file(self.ctx, file.encode(), byref(module)))
            self.modules[key] = module
        return self.modules[key]

    def kernel(self, file, name):
        """(the kernel, its parameters' names)"""
        kernel, params = c_void_p(), []
        self.must(self.lib.tile_kernel_get(self.module(file), name.encode(), byref(kernel)))
        param = Param()
        while self.lib.tile_kernel_get_param(kernel, len(params), byref(param)) == 0:
            params.append((param.name.decode(), param.type))
        return kernel, params

    def buffer(self, size):
        """Zeros, which `give_back` takes again."""
        address = self.free.get(size, []).pop() if self.free.get(size) else c_uint64()
        if not address.value:
            self.must(self.lib.tile_alloc(self.ctx, size, byref(address)))
        self.must(self.lib.tile_fill(self.ctx, address, 0, size))
        return address

    def give_back(self, address, size):
        self.free.setdefault(size, []).append(address)

    def input(self, path):
        if path not in self.inputs:
            data = elements(path)
            address = c_uint64()
            self.must(self.lib.tile_alloc(self.ctx, len(data), byref(address)))
            self.must(self.lib.tile_copy_to_device(self.ctx, address, data, len(data)))
            self.inputs[path] = address
        return self.inputs[path]

    def launch(self, request, inputs):
        """A hash of each buffer of zeros."""
        self.must(self.lib.tile_context_set_checks(self.ctx, request["checks"]))
        kernel, params = self.kernel(request["file"], request["kernel"])
        buffers, zeros = {}, []
        for name, size in request["buffers"]:
            if size is None:
                buffers[name] = self.input(inputs / f"{name}.npy")
            else:
                buffers[name] = self.buffer(size)
                zeros.append((name, size))
        args = (Arg * len(params))()
        for arg, (name, type_) in zip(args, params):
            arg.type, arg.value = type_, buffers[name].value if type_ == POINTER_TYPE else request["n"]
        self.must(self.lib.tile_launch(kernel, None, args, len(params), None))
        self.must(self.lib.tile_synchronize(self.ctx))
        stored = []
        for name, size in zeros:
            data = (c_ubyte * size)()
            self.must(self.lib.tile_copy_to_host(self.ctx, data, buffers[name], size))
            stored.append(hashlib.sha1(data).hexdigest())
            self.give_back(buffers[name], size)
        return stored


def open_library(path):
    library = ctypes.CDLL(path)
    handle = POINTER(c_void_p)
    for name, types in {
        "tile_context_create": (c_char_p, handle), "tile_context_set_checks": (c_void_p, c_uint),
        "tile_module_load_file": (c_void_p, c_char_p, handle), "tile_kernel_get": (c_void_p, c_char_p, handle),
        "tile_kernel_get_param": (c_void_p, c_int, POINTER(Param)), "tile_alloc": (c_void_p, c_size_t, POINTER(c_uint64)),
        "tile_fill": (c_void_p, c_uint64, c_ubyte, c_size_t), "tile_copy_to_device": (c_void_p, c_uint64, c_void_p, c_size_t),
        "tile_copy_to_host": (c_void_p, c_void_p, c_uint64, c_size_t), "tile_synchronize": (c_void_p,),
        "tile_launch": (c_void_p, c_void_p, POINTER(Arg), c_int, c_void_p), "tile_module_unload": (c_void_p,),
        "tile_error": (c_void_p,), "tile_status_text": (c_int,),
    }.items():  # fmt: skip
        getattr(library, name).argtypes = types
    library.tile_error.restype = library.tile_status_text.restype = c_char_p
    return library


def serve(path, inputs):
    library, devices = open_library(path), {}
    for line in sys.stdin:
        request, answer = json.loads(line), {"said": "", "stored": []}
        name = request["device"]
        try:
            if name not in devices:
                devices[name] = Device(library, name)
            answer["stored"] = devices[name].launch(request, Path(inputs))
        except Refused as e:
            answer["said"] = str(e)
        print(json.dumps(answer), flush=True)
        if answer["said"]:
            break  # a GPU may be in no state for more


class Launcher:
    """The other end of such a process; another one begins where one has ended. Under a tool of compute-sanitizer, `found`
    has what it reported, and `under` is the command that has it look at another."""

    def __init__(self, library, inputs, tool=None):
        self.command, self.process = [sys.executable, __file__, str(library), str(inputs)], None
        self.log, self.found = None, []
        self.under = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(REPORTED)] if tool else []
        if tool:
            self.log = Path(tempfile.mkstemp(prefix="sanitizer-")[1])
            self.command[:0] = [*self.under, "--log-file", str(self.log)]

    def launch(self, limit, **request):
        """(hashes, what was said)"""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline() if select.select([self.process.stdout], [], [], limit)[0] else None
        except BrokenPipeError:
            answer = ""
        if answer:
            found = json.loads(answer)
            if found["said"]:
                self.end()
            return found["stored"], found["said"]
        said = self.end()
        return [], f"no end within {limit} s" if answer is None else f"the process ended: {said}"

    def end(self):
        """What it had to say, and how it ended."""
        process, self.process = self.process, None
        if process is None:
            return ""
        process.stdin.close()
        try:
            process.wait(timeout=60 if self.log else 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self.log:
            report = self.log.read_text(errors="replace")
            if process.returncode == REPORTED:
                self.found.append(report[:3000])
            self.log.unlink(missing_ok=True)
        return f"{process.stderr.read()[-2000:]} ({process.returncode})"


if __name__ == "__main__":
    serve(*sys.argv[1:])
