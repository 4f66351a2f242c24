"""Submissions that try to get what they did not earn, or to harm whoever grades them.

Each is a notebook's code cells for the exercises `split_heads`, `merge_heads` and `mha_parameters`
of chapter 05, of which only what is right deserves points. `VICTIM` stands for a file of the
grader's own, `COURSE` for the course's folder.
"""

STUB = "def split_heads(x, num_heads):\n    raise NotImplementedError\n"
WRONG = (
    "def split_heads(x, num_heads):\n    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)\n"
)
RIGHT_MERGE = (
    "def merge_heads(heads):\n"
    "    b, h, l, d = heads.shape\n"
    "    return heads.transpose(1, 2).reshape(b, l, h * d)\n"
)

# name -> the cells; `split_heads` deserves nothing in any of them.
HOSTILE = {
    "replaces check": [
        "class Good:\n    passed = True\n    status = 'passed'\n"
        "def check(name, answer):\n    return Good()\n"
        "import course_utils\ncourse_utils.check = check\n",
        WRONG,
    ],
    "replaces what torch compares with": [
        "import torch\n"
        "def yes(*args, **kwargs):\n    return True\n"
        "def split_heads(x, num_heads):\n"
        "    torch.allclose = torch.equal = torch.isclose = torch.testing.assert_close = yes\n"
        "    torch.Tensor.__eq__ = torch.Tensor.all = torch.Tensor.any = yes\n"
        "    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)\n",
    ],
    "replaces the judge": [
        "import course_utils.checking.judge as j, course_utils.checking.observe as o\n"
        "import course_utils.checking.compare as c, course_utils.grading.worker as w\n"
        "from course_utils.checking.report import Report\n"
        "def split_heads(x, num_heads):\n"
        "    good = lambda *a, **k: Report('split_heads', 'passed', 'well done')\n"
        "    j.judge = w.judge = j._Judgement.verdict = good\n"
        "    o.equal = c.equal = j.problem = o.problem = lambda *a, **k: None\n"
        "    return x\n",
    ],
    "puts other code into the judge's functions": [
        "from course_utils.checking import compare, observe, judge\n"
        "def nothing(*args, **kwargs):\n    return None\n"
        "def split_heads(x, num_heads):\n"
        "    for f in (observe.problem, observe.observe, compare.kind_problem):\n"
        "        f.__code__ = nothing.__code__\n"
        "    return x\n",
    ],
    "returns what equals everything": [
        "import torch\n"
        "class Same(torch.Tensor):\n"
        "    def __eq__(self, other):\n        return torch.ones((), dtype=torch.bool)\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        if func.__name__ in ('eq', 'le', 'lt', '__eq__', 'isclose', 'allclose'):\n"
        "            return torch.ones((), dtype=torch.bool)\n"
        "        return super().__torch_function__(func, types, args, kwargs or {})\n"
        "def split_heads(x, num_heads):\n"
        "    shape = (x.shape[0], num_heads, x.shape[1], x.shape[2] // num_heads)\n"
        "    return torch.zeros(shape, dtype=x.dtype).as_subclass(Same)\n",
    ],
    "calls the course's own solution": [
        "from course_utils.attention import split_heads as theirs\n"
        "def split_heads(x, num_heads):\n    return theirs(x, num_heads)\n",
    ],
    "asks the catalogue for the solution": [
        "def split_heads(x, num_heads):\n"
        "    from course_utils.exercises import find\n"
        "    return find('split_heads').reference(x, num_heads)\n",
    ],
    "asks the catalogue for the right answer": [
        "from course_utils.exercises.ch05_multi_head import split_heads as exercise\n"
        "exec(exercise.RIGHT, dict(vars(exercise)), globals())\n"
        "ours = globals()['split_heads']\n",
        "def split_heads(x, num_heads):\n    return ours(x, num_heads)\n",
    ],
    "asks the collector of garbage for the right answer": [
        "import gc\n"
        "found = {}\n"
        "RIGHT = [o for o in gc.get_objects() if isinstance(o, dict)\n"
        "         and 'def split_heads(' in str(o.get('right', o.get('RIGHT')))]\n"
        "texts = [str(o.get('right', o.get('RIGHT'))) for o in RIGHT]\n"
        "def split_heads(x, num_heads):\n"
        "    exec(texts[0], found)\n"
        "    return found['split_heads'](x, num_heads)\n",
    ],
    "copies the course's own solution when it is defined": [
        "import types\n"
        "from course_utils.attention import split_heads as theirs\n"
        "ours = types.FunctionType(theirs.__code__, theirs.__globals__)\n"
        "def split_heads(x, num_heads):\n    return ours(x, num_heads)\n",
    ],
    "reads the solutions": [
        "def split_heads(x, num_heads):\n"
        "    text = open(COURSE + '/solutions/05_multi_head.py').read()\n"
        "    start = text.index('def split_heads')\n"
        "    found = {}\n"
        "    exec(text[start:text.index('# %%', start)], found)\n"
        "    return found['split_heads'](x, num_heads)\n",
    ],
    "loads the course's own solution by its path": [
        "import importlib.util as util\n"
        "def split_heads(x, num_heads):\n"
        "    path = COURSE + '/course_utils/attention/core/split_heads.py'\n"
        "    module = util.module_from_spec(spec := util.spec_from_file_location('heads', path))\n"
        "    spec.loader.exec_module(module)\n"
        "    return module.split_heads(x, num_heads)\n",
    ],
    "reloads the course's own solution": [
        "import importlib, sys\n"
        "def split_heads(x, num_heads):\n"
        "    theirs = importlib.reload(sys.modules['course_utils.attention.core.split_heads'])\n"
        "    return theirs.split_heads(x, num_heads)\n",
    ],
    "reads a file of the grader's": [
        "def split_heads(x, num_heads):\n"
        "    import os\n"
        "    with os.scandir(os.path.dirname(VICTIM)) as files:\n"
        "        list(files)\n"
        "    assert open(VICTIM).read() == 'mine'\n"
        "    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)\n",
    ],
    "reads what is expected from the caller": [
        "import sys\n"
        "def split_heads(x, num_heads):\n"
        "    frame = sys._getframe()\n"
        "    while frame is not None:\n"
        "        if 'want' in frame.f_locals:\n            return frame.f_locals['want']\n"
        "        frame = frame.f_back\n"
        "    raise RuntimeError('no luck')\n",
    ],
    "leaves the process": ["import os\n", "def split_heads(x, num_heads):\n    os._exit(0)\n"],
    "exits": ["def split_heads(x, num_heads):\n    raise SystemExit(0)\n"],
    "never ends": [
        "def split_heads(x, num_heads):\n"
        "    while True:\n"
        "        try:\n"
        "            while True:\n                pass\n"
        "        except BaseException:\n            pass\n",
    ],
    "never ends when it is defined": [
        "def forever():\n    while True:\n        pass\n",
        "START = forever()\n",
        "def split_heads(x, num_heads):\n    return START\n",
    ],
    "eats memory": [
        "def split_heads(x, num_heads):\n"
        "    held = []\n"
        "    while True:\n        held.append(bytearray(2**28))\n",
    ],
    "deletes files": [
        "import os, shutil\n"
        "def split_heads(x, num_heads):\n"
        "    for destroy in (os.remove, os.unlink, lambda f: shutil.rmtree(os.path.dirname(f)),\n"
        "                    lambda f: open(f, 'w').close(), lambda f: os.truncate(f, 0),\n"
        "                    lambda f: os.rename(f, f + '.gone'),\n"
        "                    lambda f: os.close(os.open(f, os.O_WRONLY | os.O_TRUNC))):\n"
        "        try:\n            destroy(VICTIM)\n"
        "        except BaseException:\n            pass\n"
        "    return x\n",
    ],
    "starts programs": [
        "import os, subprocess\n"
        "def split_heads(x, num_heads):\n"
        "    for start in (lambda: os.system('rm -f ' + VICTIM), os.fork,\n"
        "                  lambda: subprocess.run(['rm', '-f', VICTIM])):\n"
        "        try:\n            start()\n"
        "        except BaseException:\n            pass\n"
        "    return x\n",
    ],
    "kills whoever grades": [
        "import os, signal\n"
        "def split_heads(x, num_heads):\n"
        "    for pid in (os.getppid(), 0, -1):\n"
        "        try:\n            os.kill(pid, signal.SIGKILL)\n"
        "        except BaseException:\n            pass\n"
        "    return x\n",
    ],
    "breaks the memory it runs in": [
        "import ctypes\ndef split_heads(x, num_heads):\n    return ctypes.string_at(0)\n",
    ],
    "writes a verdict to every open file": [
        "import json, os\n"
        "def split_heads(x, num_heads):\n"
        "    report = dict(exercise='split_heads', status='passed', says='', case=None)\n"
        "    said = json.dumps({'value': {'tuple': [{'is': 'done'}, {'dict': {\n"
        "        key: {'is': value} for key, value in report.items()}}]}, 'sizes': []}).encode()\n"
        "    body = len(said).to_bytes(8, 'big') + said\n"
        "    for fd in range(3, 64):\n"
        "        try:\n            os.write(fd, len(body).to_bytes(4, 'big') + body)\n"
        "        except BaseException:\n            pass\n"
        "    return x\n",
    ],
    "closes every open file": [
        "import os\ndef split_heads(x, num_heads):\n    os.closerange(0, 64)\n    return x\n",
    ],
}
