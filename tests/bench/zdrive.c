/* zdrive: C load peers for brokers that speak the round-robin wire, so that the broker under test is the bottleneck
 * and not the load.
 *
 *   cc -O2 -o zdrive zdrive.c PATH/OF/libzmq.so           (stage.py takes the one that pyzmq brings)
 *   zdrive workers ENDPOINT K SLOTS                  K workers in one thread: link, REGISTER, answer, INCREMENT
 *   zdrive client  ENDPOINT N WINDOW SIZE            N TRACKEXEC PINGs, WINDOW in flight
 *   zdrive packers ENDPOINT K SLOTS                  K workers on the packed lane of roundrobin/packed.py
 *   zdrive packed  ENDPOINT N WINDOW SIZE            the client on that lane: whatever may be sent goes together
 *   zdrive riders  ENDPOINT K SLOTS                  K workers on the packed lane, all over one connection
 *   zdrive proxy   FRONTEND BACKEND                  zmq_proxy, ROUTER to DEALER: the practical limit
 *   zdrive echo    ENDPOINT K                        K workers for the proxy: every message goes back as it came
 *   zdrive raw     ENDPOINT N WINDOW SIZE            the client for the proxy: the same frames, no link handshake
 *   zdrive one     ENDPOINT N WINDOW SIZE            the client for the proxy: one frame a task
 *
 * SIZE: bytes of a payload that goes there and back in a frame of its own; 0: the seed's PING as it stands. Workers and
 * echo print "ready", run until SIGTERM and then print how many tasks they did. A client sends N / 10 tasks more in
 * front, which its figures leave out, and prints one line of JSON; it ends with status 3 where a reply is missing, wrong
 * or comes twice. tests/bench/peers.py is the same in Python, but for the packed lane.
 */
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "libzmq.h"

static void *ctx;
static volatile sig_atomic_t halted;
static const char V[] = "LMQv100";
static const char PLAIN[] = "hbeat..1", PACK[] = "hi!pack", SEAT[] = "hi!seat", AGREED[] = "hi!SEAT";  /* ids of link PINGs */
enum { MAXF = 64, SILENCE = 10000 /* ms */, AFTERWARDS = 50 /* ms in which a second reply would come */ };
enum { FEW = 100 /* sockets */ };
enum { BATCH = 64, HEAD = 5, SMALL = 16384 };     /* of the packed lane, as packed.py has them */
enum mode { WIRE, RAW, ONE, PACKED };
typedef unsigned char byte;

static void halt(int number) { (void)number; halted = 1; }
static void say_ready(void) { puts("ready"); fflush(stdout); }
static void heed(void) { struct sigaction act = {.sa_handler = halt}; sigaction(SIGTERM, &act, NULL); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static int by_value(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return (x > y) - (x < y); }
static void unanswered(void) { fprintf(stderr, "no answer to a handshake in %d ms\n", SILENCE); exit(1); }
static void patience(void *s, int ms) { zmq_setsockopt(s, ZMQ_RCVTIMEO, &ms, sizeof ms); }
static void part(void *s, const void *d, size_t n, int more)
{
    if (zmq_send(s, d, n, more ? ZMQ_SNDMORE : 0) < 0) { perror("send"); exit(1); }
}
static void pass(void *s, zmq_msg_t *f, int more)
{
    if (zmq_msg_send(f, s, more ? ZMQ_SNDMORE : 0) < 0) { perror("send"); exit(1); }
}

static void *peer(const char *ep, int n)
{
    void *s = zmq_socket(ctx, ZMQ_DEALER);
    int hwm = 0, linger = 0;
    char id[256];
    snprintf(id, sizeof id, "%s:%d", ep, n);
    zmq_setsockopt(s, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt(s, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(s, ZMQ_ROUTING_ID, id, strlen(id));
    if (zmq_connect(s, ep)) { perror(ep); exit(1); }
    return s;
}

static int worker(int i) { return 1000000 + getpid() % 10000 * 10000 + i; }   /* its number, no other process's */

/* one whole message into f, at most MAXF frames kept; returns their number, 0 when none is there */
static int take(void *s, zmq_msg_t *f, int flags)
{
    int c = 0, more;
    do {
        zmq_msg_init(&f[c]);
        if (zmq_msg_recv(&f[c], s, c ? 0 : flags) < 0) return 0;
        more = zmq_msg_more(&f[c]);
        if (c < MAXF - 1) c++; else zmq_msg_close(&f[c]);
    } while (more);
    return c;
}
static void drop(zmq_msg_t *f, int c) { for (int i = 0; i < c; i++) zmq_msg_close(&f[i]); }
static int is(zmq_msg_t *f, char v) { return zmq_msg_size(f) == 1 && *(char *)zmq_msg_data(f) == v; }

static int pong(void *s, zmq_msg_t *f, int c)     /* answers a link PING; 1 if it was one */
{
    if (c < 4 || zmq_msg_size(&f[0]) || !is(&f[2], 1)) return 0;
    part(s, "", 0, 1); part(s, V, 7, 1); part(s, "\2", 1, 1);
    part(s, zmq_msg_data(&f[3]), zmq_msg_size(&f[3]), 1); part(s, "", 0, 0);
    return 1;
}
static void ping(void *s, const char *ident)
{
    part(s, "", 0, 1); part(s, V, 7, 1); part(s, "\1", 1, 1); part(s, ident, 8, 1); part(s, "", 0, 0);
}
static void greet(void *s, const char *ident, const char *agreed)
{
    zmq_msg_t f[MAXF];
    ping(s, ident);
    patience(s, SILENCE);
    for (;;) {
        int c = take(s, f, 0), hit;
        if (!c) unanswered();
        hit = c >= 4 && is(&f[2], 2) && (!agreed || !memcmp(zmq_msg_data(&f[3]), agreed, zmq_msg_size(&f[3])));
        if (!hit) pong(s, f, c);
        drop(f, c);
        if (hit) break;
    }
    patience(s, -1);
}

/* a PONG is followed by REGISTER; 1 if this was an answer to either, and in *joined how many have their second */
static int joins(void *s, zmq_msg_t *f, int c, const char *slots, int *joined)
{
    if (c < 4 || zmq_msg_size(&f[0]) || (!is(&f[2], 2) && !is(&f[2], 6))) return 0;
    if (is(&f[2], 6)) { ++*joined; return 1; }
    part(s, "", 0, 1); part(s, V, 7, 1); part(s, "\4", 1, 1); part(s, "\1\0\0\0", 4, 1);
    part(s, "\10", 1, 1); part(s, slots, strlen(slots), 1); part(s, "", 0, 0);
    return 1;
}

static int answer(void *s, zmq_msg_t *f, int c)     /* "" V 04 id 01 (payload) "" client; 1 if it was a task */
{
    if (pong(s, f, c) || c < 7) return 0;
    pass(s, &f[c - 1], 1);                                                  /* the client, now on top */
    part(s, "", 0, 1); part(s, V, 7, 1); part(s, "\6", 1, 1);
    pass(s, &f[3], 1);
    if (c == 8) pass(s, &f[5], 1);
    part(s, "", 0, 0);
    part(s, "", 0, 1); part(s, V, 7, 1); part(s, "\3", 1, 1); part(s, "\2\0\0\0", 4, 1);
    part(s, "\7", 1, 1); part(s, "", 0, 0);                                  /* INCREMENT */
    return 1;
}

/* ---- the packed lane: flat msgpack arrays of binaries, see packed.py ---------------------------------------------- */

static byte *put_array(byte *p, unsigned n)
{
    *p++ = 0xdc; *p++ = n >> 8; *p++ = n & 255;
    return p;
}
static byte *put_bin(byte *p, const void *d, size_t n)
{
    *p++ = n < 256 ? 0xc4 : 0xc5;
    if (n >= 256) *p++ = n >> 8;
    *p++ = n & 255;
    memcpy(p, d, n);
    return p + n;
}
static void wrong(const char *what) { fprintf(stderr, "packed: %s\n", what); _exit(3); }
static const byte *get_array(const byte *p, const byte *end, unsigned *n)
{
    if (p < end && (*p & 0xf0) == 0x90) { *n = *p & 15; return p + 1; }
    if (end - p < 3 || *p != 0xdc) wrong("no array");
    *n = p[1] << 8 | p[2];
    return p + 3;
}
static const byte *get_bin(const byte *p, const byte *end, const byte **d, size_t *n)
{
    int wide = p < end && *p == 0xc5;
    if (end - p < 2 + wide || (*p != 0xc4 && !wide)) wrong("no binary");
    *n = wide ? p[1] << 8 | p[2] : p[1];
    *d = p + 2 + wide;
    if ((size_t)(end - *d) < *n) wrong("cut off");
    return *d + *n;
}
static const byte *open_frame(const byte *p, const byte *end, char kind, unsigned *n)
{
    if (end - p < HEAD + 1 || memcmp(p, "RHP1", 4) || p[4] != (byte)kind) wrong("another frame");
    return get_array(p + HEAD, end, n);
}
static const byte *only(zmq_msg_t *f, int c, const byte **end)
{
    if (c != 1) wrong("more than a frame");
    *end = (byte *)zmq_msg_data(f) + zmq_msg_size(f);
    return zmq_msg_data(f);
}

static void ask_batch(void *s, uint64_t first, unsigned n, const char *payload, size_t size)
{
    static byte frame[BATCH * (SMALL + 64)];
    byte *p = put_array((byte *)memcpy(frame, "RHP1T", HEAD) + HEAD, n);
    for (uint64_t id = first; id < first + n; id++) {
        *p++ = size ? 0x94 : 0x93;
        p = put_bin(put_bin(put_bin(p, "\4", 1), &id, 8), "\1", 1);
        if (size) p = put_bin(p, payload, size);
    }
    part(s, frame, p - frame, 0);
}

/* deliveries, client, task …, and behind q what answers them: client, id, payload or true …; its end */
static byte *answers(byte *q, const byte *p, const byte *end, unsigned *n)
{
    const byte *d;
    unsigned parts;
    size_t size;
    p = open_frame(p, end, 'D', n);
    if (!*n || *n > 2 * BATCH || *n % 2) wrong("wrong number of values");
    *n /= 2;
    q = put_array((byte *)memcpy(q, "RHP1A", HEAD) + HEAD, *n * 3);
    for (unsigned i = 0; i < *n; i++) {
        p = get_bin(p, end, &d, &size);
        q = put_bin(q, d, size);                                        /* the client */
        p = get_array(p, end, &parts);
        for (unsigned j = 0; j < parts; j++) {
            p = get_bin(p, end, &d, &size);
            if (j == 1 || j == 3) q = put_bin(q, d, size);              /* the id, and the payload goes back */
        }
        if (parts < 4) *q++ = 0xc3;
    }
    return q;
}
static int answer_batch(void *s, zmq_msg_t *f, int c)
{
    static byte frame[BATCH * (SMALL + 1024)];
    const byte *end, *p;
    unsigned n;
    if (pong(s, f, c)) return 0;
    p = only(f, c, &end);
    part(s, frame, answers(frame, p, end, &n) - frame, 0);
    return n;
}

static int results(zmq_msg_t *f, int c, size_t want, uint64_t *ids)     /* id, worker, payload or nil … */
{
    const byte *end, *d;
    unsigned n;
    size_t size;
    const byte *p = only(f, c, &end);
    p = open_frame(p, end, 'R', &n);
    if (!n || n > 3 * BATCH || n % 3) wrong("wrong number of values");
    for (unsigned i = 0; i < n / 3; i++) {
        p = get_bin(p, end, &d, &size);
        if (size != 8) return -1;
        memcpy(&ids[i], d, 8);
        p = get_bin(p, end, &d, &size);
        if (p < end && *p == 0xc0) { size = 0; p++; } else p = get_bin(p, end, &d, &size);
        if (size != want) return -1;
    }
    return n / 3;
}

/* ---- many workers over one connection: envelopes of whole messages, see engine/drive/sharing/envelope.py ---------- */

enum { MOST = 256 /* messages in an envelope */, ROOM = 1 << 20 };
static byte envelope[ROOM], *tail;       /* the one that goes out next */
static unsigned enclosed;

static void seal(void *s)
{
    if (!enclosed) return;
    put_array(envelope + 4, enclosed);
    part(s, envelope, tail - envelope, 0);
    enclosed = 0;
}
static byte *enclose(void *s, const byte *id, size_t size, int frames)     /* a worker's message begins */
{
    if (enclosed == MOST || tail - envelope > ROOM - 2 * 65536) seal(s);
    if (!enclosed++) tail = put_array((byte *)memcpy(envelope, "RHS1", 4) + 4, 0);
    *tail++ = 0x91 + frames;
    return put_bin(tail, id, size);
}
static void tell(void *s, const byte *id, size_t size, const char *command, const void *ident, size_t n, const char *slots)
{
    byte *q = enclose(s, id, size, slots ? 7 : 5);
    q = put_bin(put_bin(put_bin(put_bin(q, "", 0), V, 7), command, 1), ident, n);
    if (slots) q = put_bin(put_bin(q, "\10", 1), slots, strlen(slots));
    tail = put_bin(q, "", 0);
}

/* what one message to a worker asks for; the place behind it */
static const byte *ride(void *s, const byte *p, const byte *end, const char *slots, int *joined, long *done)
{
    const byte *id, *d[MAXF];
    size_t size, n[MAXF];
    unsigned frames, many;
    p = get_array(p, end, &frames);
    if (frames < 2 || frames > MAXF) wrong("wrong number of frames");
    p = get_bin(p, end, &id, &size);
    for (unsigned i = 0; i < frames - 1; i++) p = get_bin(p, end, &d[i], &n[i]);
    if (frames == 2) {
        byte *q = enclose(s, id, size, 1);
        tail = answers(q + 3, d[0], d[0] + n[0], &many);
        size = tail - q - 3;
        *q++ = 0xc5; *q++ = size >> 8; *q++ = size & 255;
        if (size > 65535) wrong("too long for an envelope");
        *done += many;
    } else if (frames < 6 || n[0] || n[2] != 1) {
        wrong("not packed");
    } else if (*d[2] == 1) {
        tell(s, id, size, "\2", d[3], n[3], NULL);
    } else if (*d[2] == 2) {
        tell(s, id, size, "\4", "\1\0\0\0", 4, slots);                  /* REGISTER */
    } else if (*d[2] == 6) {
        ++*joined;
    }
    return p;
}

static void share(const char *ep, int k, const char *slots)
{
    int ready = 0, joined = 0;
    long done = 0;
    unsigned n;
    zmq_msg_t f[MAXF];
    char id[256];
    heed();
    void *s = peer(ep, worker(k));
    greet(s, SEAT, AGREED);
    for (int i = 0; i < k; i++) {
        snprintf(id, sizeof id, "%s:%d", ep, worker(i));
        tell(s, (byte *)id, strlen(id), "\1", SEAT, 8, NULL);
    }
    seal(s);
    patience(s, SILENCE);
    while (!halted) {
        int flags = 0, c;
        for (; (c = take(s, f, flags)); flags = ZMQ_DONTWAIT, drop(f, c)) {
            if (pong(s, f, c)) continue;
            const byte *end, *p = only(f, c, &end);
            if (end - p < 5 || memcmp(p, "RHS1", 4)) wrong("no envelope");
            for (p = get_array(p + 4, end, &n); n; n--) p = ride(s, p, end, slots, &joined, &done);
        }
        seal(s);
        if (ready) continue;
        if (!flags && !halted) unanswered();
        if ((ready = joined == k)) { say_ready(); patience(s, -1); }
    }
    printf("%ld\n", done); fflush(stdout);
    _exit(0);
}

/* ---- loops --------------------------------------------------------------------------------------------------------- */

/* zmq_poll asks each socket by itself; with more than FEW that is most of a peer's time, so their descriptors are polled.
 * These only tell of changes, so such a socket is read until nothing is there. */
static void work(const char *ep, int k, const char *slots, enum mode mode)
{
    zmq_pollitem_t *it = calloc(k, sizeof *it);
    void **sockets = calloc(k, sizeof *sockets);
    zmq_msg_t f[MAXF];
    long done = 0, most = k > FEW ? LONG_MAX : BATCH;
    int polled = k, ready = 0, joined = mode == RAW ? k : 0;
    heed();
    for (int i = 0; i < k; i++) {
        size_t size = sizeof it[i].fd;
        sockets[i] = peer(ep, worker(i));
        zmq_getsockopt(sockets[i], ZMQ_FD, &it[i].fd, &size);
        if (k <= FEW) it[i].socket = sockets[i];
        it[i].events = it[i].revents = ZMQ_POLLIN;
        if (mode != RAW) ping(sockets[i], mode == PACKED ? PACK : PLAIN);
    }
    for (; !halted; polled = zmq_poll(it, k, ready ? -1 : SILENCE)) {
        for (int i = 0; i < k && polled > 0; i++) {
            void *s = sockets[i];
            if (!it[i].revents) continue;
            for (long n = 0, c; n < most && (c = take(s, f, ZMQ_DONTWAIT)); n++) {
                if (mode == RAW) {
                    for (int j = 0; j < c; j++) pass(s, &f[j], j < c - 1);
                    done++;
                } else {
                    if (!joins(s, f, c, slots, &joined)) done += mode == PACKED ? answer_batch(s, f, c) : answer(s, f, c);
                    drop(f, c);
                }
            }
        }
        if (ready) continue;
        if (!polled) unanswered();
        if ((ready = joined == k)) say_ready();
    }
    printf("%ld\n", done); fflush(stdout);
    _exit(0);
}

static void ask(void *s, uint64_t id, const char *payload, size_t size, enum mode mode)
{
    if (mode == ONE) {
        static char frame[1 << 20];
        memcpy(frame, &id, 8);
        part(s, frame, size > 16 ? size : 16, 0);
        return;
    }
    part(s, "", 0, 1); part(s, V, 7, 1); part(s, "\4", 1, 1); part(s, &id, 8, 1); part(s, "\1", 1, 1);
    if (size) part(s, payload, size, 1);
    part(s, "", 0, 0);
}

/* how many replies this message holds, and to what; -1: one that is not as it should be */
static int replies(void *s, zmq_msg_t *f, int c, size_t size, enum mode mode, uint64_t *ids)
{
    if (mode == ONE) {
        if (c != 1 || zmq_msg_size(&f[0]) != (size > 16 ? size : 16)) return -1;
        memcpy(ids, zmq_msg_data(&f[0]), 8);
        return 1;
    }
    if (pong(s, f, c)) return 0;
    if (mode == PACKED) return results(f, c, size, ids);
    if (c != 6 + (size > 0) || zmq_msg_size(&f[3]) != 8) return -1;      /* "" V 06 id (payload) "" worker, or as sent */
    if (size && zmq_msg_size(&f[mode == RAW ? 5 : 4]) != size) return -1;
    memcpy(ids, zmq_msg_data(&f[3]), 8);
    return 1;
}

static void fail(const char *what, long n, long of)
{
    fprintf(stderr, "%ld of %ld tasks: %s\n", n, of, what);
    _exit(3);
}

static void load(const char *ep, long n, long window, size_t size, enum mode mode)
{
    void *s = peer(ep, 100000 + getpid() % 800000);
    zmq_msg_t f[MAXF];
    long warm = n / 10, all = n + warm, got = 0, measured = 0;
    double *at = malloc(all * sizeof *at), *lat = malloc(all * sizeof *lat), start = 0;
    char *answered = calloc(all, 1), *payload = calloc(size + 1, 1);
    uint64_t sent = 0, ids[BATCH];
    if (mode == WIRE || mode == PACKED) greet(s, mode == PACKED ? PACK : PLAIN, NULL);
    patience(s, SILENCE);
    while (got < all) {
        for (long free; (free = window - ((long)sent - got)) > 0 && sent < (uint64_t)all;) {
            long n = mode != PACKED ? 1 : free < BATCH ? free : BATCH;
            if (n > all - (long)sent) n = all - (long)sent;
            double t = now();
            for (long i = 0; i < n; i++) at[sent + i] = t;
            if (mode == PACKED) ask_batch(s, sent, n, payload, size);
            else ask(s, sent, payload, size, mode);
            sent += n;
        }
        for (int flags = 0, c; got < all; flags = ZMQ_DONTWAIT) {
            if (!(c = take(s, f, flags))) {
                if (!flags) fail("no reply", (long)sent - got, all);
                break;
            }
            int many = replies(s, f, c, size, mode, ids);
            drop(f, c);
            if (many < 0) fail("a reply that is not as it should be", 1, all);
            for (int i = 0; i < many; i++) {
                if (ids[i] >= sent) fail("a reply that is not as it should be", 1, all);
                if (answered[ids[i]]++) fail("a second reply", 1, all);
                if (++got == warm || !start) start = now();
                if ((long)ids[i] >= warm) lat[measured++] = now() - at[ids[i]];
            }
        }
    }
    double dt = now() - start;
    patience(s, AFTERWARDS);
    for (int c; (c = take(s, f, 0)); drop(f, c))
        if (replies(s, f, c, size, mode, ids)) fail("a second reply", 1, all);
    qsort(lat, measured, sizeof *lat, by_value);
    printf("{\"tasks\": %ld, \"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", all, n / dt,
           lat[measured / 2] * 1e6, lat[measured * 99 / 100] * 1e6);
    fflush(stdout);
    _exit(0);
}

static int proxy(const char *front, const char *back)
{
    void *f = zmq_socket(ctx, ZMQ_ROUTER), *b = zmq_socket(ctx, ZMQ_DEALER);
    int hwm = 0;
    void *both[] = {f, b};
    for (int i = 0; i < 2; i++) {
        zmq_setsockopt(both[i], ZMQ_SNDHWM, &hwm, sizeof hwm);
        zmq_setsockopt(both[i], ZMQ_RCVHWM, &hwm, sizeof hwm);
    }
    if (zmq_bind(f, front) || zmq_bind(b, back)) { perror("bind"); return 1; }
    say_ready();
    zmq_proxy(f, b, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) { files.rlim_cur = files.rlim_max; setrlimit(RLIMIT_NOFILE, &files); }
    ctx = zmq_ctx_new();
    zmq_ctx_set(ctx, ZMQ_MAX_SOCKETS, 20000);
    if (argc == 6) {
        const char *modes[] = {"client", "raw", "one", "packed"};
        for (int how = WIRE; how <= PACKED; how++)
            if (!strcmp(mode, modes[how])) load(argv[2], atol(argv[3]), atol(argv[4]), strtoul(argv[5], NULL, 10), how);
    }
    else if (!strcmp(mode, "workers") && argc == 5) work(argv[2], atoi(argv[3]), argv[4], WIRE);
    else if (!strcmp(mode, "packers") && argc == 5) work(argv[2], atoi(argv[3]), argv[4], PACKED);
    else if (!strcmp(mode, "riders") && argc == 5) share(argv[2], atoi(argv[3]), argv[4]);
    else if (!strcmp(mode, "echo") && argc == 4) work(argv[2], atoi(argv[3]), "", RAW);
    else if (!strcmp(mode, "proxy") && argc == 4) return proxy(argv[2], argv[3]);
    fprintf(stderr, "see the head of zdrive.c\n");
    return 2;
}
