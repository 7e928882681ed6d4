/* ndrive: C load peers for nats-server, the counterpart of zdrive.c: request/reply with a queue group, in NATS's own text
 * protocol on plain sockets, with everything that is due written at once.
 *
 *   cc -O2 -o ndrive ndrive.c
 *   ndrive workers PORT K                  K members of the group, a connection each, in one thread; until SIGTERM
 *   ndrive client  PORT N WINDOW SIZE      N requests of SIZE bytes, WINDOW in flight
 *
 * Output, warm-up and exit status are those of zdrive.
 */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 20, SILENCE = 10000 /* ms */, AFTERWARDS = 50 /* ms in which a second reply would come */ };

typedef struct { int fd; size_t n, at, out_n, out_room; char *in, *out; } link_t;
typedef struct { char *to, *reply, *data; size_t size; } msg_t;

static volatile sig_atomic_t halted;
static void halt(int number) { (void)number; halted = 1; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static int by_value(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return (x > y) - (x < y); }
static void fail(const char *what, long n, long of) { fprintf(stderr, "%ld of %ld tasks: %s\n", n, of, what); _exit(3); }

static void put(link_t *l, const char *d, size_t n)
{
    if (l->out_n + n > l->out_room) {
        l->out_room = 2 * (l->out_n + n);
        l->out = realloc(l->out, l->out_room);
    }
    memcpy(l->out + l->out_n, d, n);
    l->out_n += n;
}
static void flush(link_t *l)
{
    for (size_t done = 0; done < l->out_n;) {
        ssize_t n = write(l->fd, l->out + done, l->out_n - done);
        if (n <= 0) { perror("write"); exit(1); }
        done += n;
    }
    l->out_n = 0;
}
static void publish(link_t *l, const char *to, const char *reply, const char *d, size_t n)
{
    char head[256];
    put(l, head, snprintf(head, sizeof head, "PUB %s %s%s%zu\r\n", to, reply, *reply ? " " : "", n));
    put(l, d, n);
    put(l, "\r\n", 2);
}
/* more bytes; 0 where none came in time */
static int fill(link_t *l)
{
    memmove(l->in, l->in + l->at, l->n - l->at);
    l->n -= l->at;
    l->at = 0;
    ssize_t n = read(l->fd, l->in + l->n, ROOM - l->n);
    if (n > 0) l->n += n;
    return n > 0;
}
/* the next whole message of what was read, PINGs answered; 0 where there is none */
static int next(link_t *l, msg_t *m)
{
    static char line[512], *word[8];
    for (;;) {
        char *start = l->in + l->at, *end = memchr(start, '\n', l->n - l->at);
        size_t width = end ? (size_t)(end + 1 - start) : 0;
        if (!end) return 0;
        if (!strncmp(start, "MSG ", 4) && width < sizeof line) {
            int c = 0;
            memcpy(line, start, width);
            line[width - 2] = 0;
            for (char *w = strtok(line, " "); w && c < 8; w = strtok(NULL, " ")) word[c++] = w;
            *m = (msg_t){word[1], c == 5 ? word[3] : "", end + 1, strtoul(word[c - 1], NULL, 10)};
            if (l->n - l->at < width + m->size + 2) return 0;
            l->at += width + m->size + 2;
            return 1;
        }
        if (!strncmp(start, "PING", 4)) put(l, "PONG\r\n", 6);
        if (!strncmp(start, "-ERR", 4)) { fprintf(stderr, "%.*s", (int)width, start); exit(1); }
        l->at += width;
    }
}
static void patience(link_t *l, int ms)
{
    struct timeval t = {ms / 1000, ms % 1000 * 1000};
    setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}
static link_t greet(int port, const char *subscribe)
{
    link_t l = {.fd = socket(AF_INET, SOCK_STREAM, 0), .in = malloc(ROOM)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *hello = "CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false}\r\n";
    int on = 1;
    if (connect(l.fd, (struct sockaddr *)&to, sizeof to)) { perror("connect"); exit(1); }
    setsockopt(l.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    patience(&l, SILENCE);
    put(&l, hello, strlen(hello));
    put(&l, subscribe, strlen(subscribe));
    put(&l, "PING\r\n", 6);
    flush(&l);
    do if (!fill(&l)) { fprintf(stderr, "no answer to a handshake\n"); exit(1); } while (!memmem(l.in, l.n, "PONG\r\n", 6));
    l.at = l.n;
    return l;
}

static void work(int port, int k)
{
    struct pollfd *it = calloc(k, sizeof *it);
    link_t *l = calloc(k, sizeof *l);
    long done = 0;
    msg_t m;
    struct sigaction act = {.sa_handler = halt};
    sigaction(SIGTERM, &act, NULL);
    for (int i = 0; i < k; i++) {
        l[i] = greet(port, "SUB work workers 1\r\n");
        it[i] = (struct pollfd){.fd = l[i].fd, .events = POLLIN};
    }
    puts("ready"); fflush(stdout);
    while (!halted) {
        if (poll(it, k, -1) < 0) continue;
        for (int i = 0; i < k; i++) {
            if (!it[i].revents || !fill(&l[i])) continue;
            for (; next(&l[i], &m); done++) publish(&l[i], m.reply, "", m.data, m.size);
            flush(&l[i]);
        }
    }
    printf("%ld\n", done); fflush(stdout);
    _exit(0);
}

static void load(int port, long n, long window, size_t size)
{
    long warm = n / 10, all = n + warm, got = 0, sent = 0, measured = 0;
    double *at = malloc(all * sizeof *at), *lat = malloc(all * sizeof *lat), start = 0;
    char *answered = calloc(all, 1), *payload = calloc(size + 1, 1), inbox[64], to[96];
    snprintf(inbox, sizeof inbox, "SUB _INBOX.%d.* 1\r\n", getpid());
    link_t l = greet(port, inbox);
    msg_t m;
    while (got < all) {
        for (; sent < all && sent - got < window; sent++) {
            at[sent] = now();
            snprintf(to, sizeof to, "_INBOX.%d.%ld", getpid(), sent);
            publish(&l, "work", to, payload, size);
        }
        flush(&l);
        if (!fill(&l)) fail("no reply", sent - got, all);
        while (next(&l, &m)) {
            long id = atol(strrchr(m.to, '.') + 1);
            if (id < 0 || id >= sent || m.size != size) fail("a reply that is not as it should be", 1, all);
            if (answered[id]++) fail("a second reply", 1, all);
            if (++got == warm || !start) start = now();
            if (id >= warm) lat[measured++] = now() - at[id];
        }
    }
    double dt = now() - start;
    patience(&l, AFTERWARDS);
    while (fill(&l)) if (next(&l, &m)) fail("a second reply", 1, all);
    qsort(lat, measured, sizeof *lat, by_value);
    printf("{\"tasks\": %ld, \"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", all, n / dt,
           lat[measured / 2] * 1e6, lat[measured * 99 / 100] * 1e6);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "workers")) work(atoi(argv[2]), atoi(argv[3]));
    if (argc == 6 && !strcmp(argv[1], "client")) load(atoi(argv[2]), atol(argv[3]), atol(argv[4]), strtoul(argv[5], NULL, 10));
    fprintf(stderr, "see the head of ndrive.c\n");
    return 2;
}
