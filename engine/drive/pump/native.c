/* Whole messages out of a ZeroMQ socket and into it, many in one call.
 *
 * There is no header of libzmq and no link to it: load() is given the addresses of the functions of the libzmq that pyzmq
 * has loaded. Only Python's stable ABI of 3.11 is used, so that one binary serves every later Python.
 *
 * Every frame is asked whether more follow. The GIL is held throughout: nothing here waits.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define INTERFACE 2 /* native.py knows it too: a binary of another version is not used */
#define MOST_FRAMES 256

enum { DONTWAIT = 1, SNDMORE = 2, SRCFD = 2 }; /* of zmq.h */

typedef struct { _Alignas(8) unsigned char content[64]; } msg_t; /* zmq_msg_t in the ABI of libzmq 4 */

static int (*msg_init)(msg_t *);
static int (*msg_recv)(msg_t *, void *, int);
static int (*msg_close)(msg_t *);
static int (*msg_more)(const msg_t *);
static int (*msg_get)(const msg_t *, int);
static void *(*msg_data)(msg_t *);
static size_t (*msg_size)(const msg_t *);
static int (*zsend)(void *, const void *, size_t, int);
static int (*zerrno)(void);
static const char *(*msg_gets)(const msg_t *, const char *);

/* load(addresses): in the order of native.py's FUNCTIONS. */
static PyObject *load(PyObject *self, PyObject *args)
{
    unsigned long long at[10];
    (void)self;
    if (!PyArg_ParseTuple(args, "KKKKKKKKKK", at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7, at + 8,
                          at + 9))
        return NULL;
    msg_init = (int (*)(msg_t *))(uintptr_t)at[0];
    msg_recv = (int (*)(msg_t *, void *, int))(uintptr_t)at[1];
    msg_close = (int (*)(msg_t *))(uintptr_t)at[2];
    msg_more = (int (*)(const msg_t *))(uintptr_t)at[3];
    msg_get = (int (*)(const msg_t *, int))(uintptr_t)at[4];
    msg_data = (void *(*)(msg_t *))(uintptr_t)at[5];
    msg_size = (size_t (*)(const msg_t *))(uintptr_t)at[6];
    zsend = (int (*)(void *, const void *, size_t, int))(uintptr_t)at[7];
    zerrno = (int (*)(void))(uintptr_t)at[8];
    msg_gets = (const char *(*)(const msg_t *, const char *))(uintptr_t)at[9];
    Py_RETURN_NONE;
}

static int ready(void)
{
    if (zerrno)
        return 1;
    PyErr_SetString(PyExc_RuntimeError, "load() comes first");
    return 0;
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

struct source {
    void *socket;
    long most;        /* frames of a message, one more is kept to show that there were too many */
    PyObject *known;  /* dict of peers, or NULL: nobody is looked at */
    int fresh;        /* whether known peers are looked at too */
    PyObject *look;   /* look(peer, descriptor) -> fresh */
    PyObject *users;  /* dict of peers, to the keys that they were admitted under; or NULL: no keys here */
    PyObject *judge;  /* judge(peer, key, descriptor) -> whether it is admitted */
    size_t bytes;     /* taken so far */
    int error;        /* errno; 0: none */
    msg_t msg;
};

/* Whether the peer is to be looked at; -1 with an exception. */
static int stranger(struct source *from, PyObject *peer)
{
    if (!from->known || from->fresh)
        return from->fresh;
    int known = PyDict_Contains(from->known, peer);
    return known < 0 ? known : !known;
}

static int look(struct source *from, PyObject *peer, int fd)
{
    PyObject *number = PyLong_FromLong(fd);
    PyObject *told = number ? PyObject_CallFunctionObjArgs(from->look, peer, number, NULL) : NULL;
    Py_XDECREF(number);
    if (!told)
        return -1;
    from->fresh = PyObject_IsTrue(told);
    Py_DECREF(told);
    return from->fresh < 0 ? -1 : 0;
}

/* Whether the peer is admitted under the key that this message came by; -1 with an exception. */
static int admitted(struct source *from, PyObject *peer)
{
    const char *user = msg_gets(&from->msg, "User-Id");
    if (!user)
        user = ""; /* from within the process */
    PyObject *known = PyDict_GetItemWithError(from->users, peer);
    char *data;
    Py_ssize_t size;
    if (known) {
        if (PyBytes_AsStringAndSize(known, &data, &size) < 0)
            return -1;
        if ((size_t)size == strlen(user) && !memcmp(data, user, (size_t)size))
            return 1;
    } else if (PyErr_Occurred()) {
        return -1;
    }
    PyObject *told = PyObject_CallFunction(from->judge, "Oyi", peer, user, msg_get(&from->msg, SRCFD));
    int good = told ? PyObject_IsTrue(told) : -1;
    Py_XDECREF(told);
    return good;
}

static void drop(PyObject **frames, long count)
{
    while (count)
        Py_DECREF(frames[--count]);
}

/* The frames of one message into `frames`; how many, 0 for one that is not admitted, or -1 with an exception or with
 * from->error. A message is always read to its end: whatever happens, the next one begins where it should. */
static long take(struct source *from, PyObject **frames, int *asked, int *fd)
{
    long count = 0;
    int begun = 0, more, failed = 0, denied = 0;
    *asked = 0;
    do {
        while (msg_recv(&from->msg, from->socket, DONTWAIT) < 0) {
            from->error = zerrno();
            if (from->error != EINTR || (!begun && PyErr_CheckSignals() < 0)) {
                drop(frames, count);
                if (begun && from->error == EAGAIN)
                    from->error = EPROTO; /* libzmq hands over whole messages only */
                return -1;
            }
            from->error = 0;
        }
        begun = 1;
        more = msg_more(&from->msg);
        size_t size = msg_size(&from->msg);
        from->bytes += size;
        if (failed || denied || count > from->most)
            continue;
        if (count == 1 && from->users) {
            int good = admitted(from, frames[0]);
            failed = good < 0;
            denied = !good;
            if (failed || denied)
                continue;
        }
        if (count == 1 && (*asked = stranger(from, frames[0])) > 0)
            *fd = msg_get(&from->msg, SRCFD);
        frames[count] = *asked < 0 ? NULL : PyBytes_FromStringAndSize(msg_data(&from->msg), (Py_ssize_t)size);
        if (frames[count])
            count++;
        else
            failed = 1;
    } while (more);
    if (failed || denied)
        drop(frames, count);
    return failed ? -1 : denied ? 0 : count;
}

/* Append one message to `all`; 0, or -1 as take(). */
static int add(struct source *from, PyObject *all)
{
    PyObject *frames[MOST_FRAMES + 1];
    int asked, fd = -1;
    long count = take(from, frames, &asked, &fd);
    if (count <= 0)
        return (int)count;
    PyObject *message = PyList_New(count);
    if (!message) {
        drop(frames, count);
        return -1;
    }
    for (long i = 0; i < count; i++)
        PyList_SetItem(message, i, frames[i]); /* takes the reference over, and can not fail */
    int wrong = PyList_Append(all, message);
    if (!wrong && asked)
        wrong = look(from, frames[0], fd); /* `all` holds it */
    Py_DECREF(message);
    return wrong;
}

/* receive(socket, limit, most frames, most bytes[, known, fresh, look[, users, judge]])
 *     -> list of lists of bytes, or errno
 *
 * Up to `limit` messages, fewer once they have `most bytes`. Longer ones are cut to `most frames` + 1. */
static PyObject *receive(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (!ready())
        return NULL;
    if ((n != 4 && n != 7 && n != 9) || (n > 4 && !PyDict_Check(args[4])) || (n == 9 && !PyDict_Check(args[7]))) {
        PyErr_SetString(PyExc_TypeError, "receive(socket, limit, frames, bytes[, known, fresh, look[, users, judge]])");
        return NULL;
    }
    struct source from = {.socket = PyLong_AsVoidPtr(args[0])};
    long limit = PyLong_AsLong(args[1]);
    from.most = PyLong_AsLong(args[2]);
    size_t bytes = PyLong_AsSize_t(args[3]);
    if (n == 9) {
        from.users = args[7];
        from.judge = args[8];
    }
    if (n > 4) {
        from.known = args[4];
        from.fresh = PyObject_IsTrue(args[5]);
        from.look = args[6];
    }
    if (PyErr_Occurred())
        return NULL;
    if (from.most < 1 || from.most >= MOST_FRAMES) {
        PyErr_SetString(PyExc_ValueError, "frames");
        return NULL;
    }
    PyObject *all = PyList_New(0);
    if (!all)
        return NULL;
    msg_init(&from.msg);
    int wrong = 0;
    while (!wrong && PyList_Size(all) < limit && (from.bytes < bytes || !PyList_Size(all)))
        wrong = add(&from, all);
    msg_close(&from.msg);
    if (!wrong || (from.error == EAGAIN && !PyErr_Occurred()))
        return all;
    Py_DECREF(all);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(from.error);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

/* One message; 0, errno, or -1 with an exception. Nothing of a message is sent that is not a list of bytes. */
static int put(void *socket, PyObject *frames)
{
    if (!PyList_Check(frames)) {
        PyErr_SetString(PyExc_TypeError, "a message is a list");
        return -1;
    }
    Py_ssize_t count = PyList_Size(frames);
    if (!count) {
        PyErr_SetString(PyExc_IndexError, "a message of no frames");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *frame = PyList_GetItem(frames, i);
        if (!frame || !PyBytes_Check(frame)) {
            if (frame)
                PyErr_SetString(PyExc_TypeError, "a frame is bytes");
            return -1;
        }
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *frame = PyList_GetItem(frames, i);
        char *data;
        Py_ssize_t size;
        if (!frame || PyBytes_AsStringAndSize(frame, &data, &size) < 0)
            return -1; /* only if a signal's handler has changed it */
        Py_INCREF(frame);
        int error = 0;
        while (zsend(socket, data, (size_t)size, DONTWAIT | (i < count - 1 ? SNDMORE : 0)) < 0) {
            error = zerrno();
            if (error == EINTR && !i && PyErr_CheckSignals() < 0)
                error = -1;
            if (error != EINTR)
                break;
            error = 0;
        }
        Py_DECREF(frame);
        if (error)
            return error;
    }
    return 0;
}

/* send(socket, frames) -> errno */
static PyObject *send_one(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (!ready())
        return NULL;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "send(socket, frames)");
        return NULL;
    }
    void *socket = PyLong_AsVoidPtr(args[0]);
    if (PyErr_Occurred())
        return NULL;
    int error = put(socket, args[1]);
    return error < 0 ? NULL : PyLong_FromLong(error);
}

/* send_run(socket, commands, start, Send, name) -> (next, errno)
 *
 * From `start` on, while commands are of the class Send, which is a tuple of frames and a socket's name, and that name is
 * `name`. Stops behind a command that the socket has refused. */
static PyObject *send_run(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (!ready())
        return NULL;
    if (n != 5 || !PyList_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "send_run(socket, commands, start, Send, name)");
        return NULL;
    }
    void *socket = PyLong_AsVoidPtr(args[0]);
    PyObject *commands = args[1];
    Py_ssize_t at = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred())
        return NULL;
    int error = 0;
    for (; !error && at < PyList_Size(commands); at++) {
        PyObject *command = PyList_GetItem(commands, at);
        if (!command)
            return NULL; /* start was below 0 */
        if ((PyObject *)Py_TYPE(command) != args[3])
            break;
        PyObject *frames = PyTuple_GetItem(command, 0), *name = PyTuple_GetItem(command, 1);
        if (!frames || !name)
            return NULL;
        int same = name == args[4] ? 1 : PyObject_RichCompareBool(name, args[4], Py_EQ);
        if (same < 0)
            return NULL;
        if (!same)
            break;
        Py_INCREF(frames);
        error = put(socket, frames);
        Py_DECREF(frames);
        if (error < 0)
            return NULL;
    }
    return Py_BuildValue("ni", at, error);
}

/* ------------------------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"load", load, METH_VARARGS, NULL},
    {"receive", (PyCFunction)(void (*)(void))receive, METH_FASTCALL, NULL},
    {"send", (PyCFunction)(void (*)(void))send_one, METH_FASTCALL, NULL},
    {"send_run", (PyCFunction)(void (*)(void))send_run, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddIntConstant(made, "INTERFACE", INTERFACE) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
