/* What zdrive.c uses of libzmq 4, so that no header of it has to be installed: it is linked to the libzmq that pyzmq brings. */
#include <stddef.h>

enum { ZMQ_DEALER = 5, ZMQ_ROUTER = 6 };
enum { ZMQ_ROUTING_ID = 5, ZMQ_FD = 14, ZMQ_LINGER = 17, ZMQ_SNDHWM = 23, ZMQ_RCVHWM = 24, ZMQ_RCVTIMEO = 27 };
enum { ZMQ_MAX_SOCKETS = 2 };
enum { ZMQ_DONTWAIT = 1, ZMQ_SNDMORE = 2 };
enum { ZMQ_POLLIN = 1 };

typedef struct { _Alignas(8) unsigned char content[64]; } zmq_msg_t;
typedef struct { void *socket; int fd; short events, revents; } zmq_pollitem_t;

void *zmq_ctx_new(void);
int zmq_ctx_set(void *context, int option, int value);
void *zmq_socket(void *context, int type);
int zmq_setsockopt(void *socket, int option, const void *value, size_t size);
int zmq_getsockopt(void *socket, int option, void *value, size_t *size);
int zmq_bind(void *socket, const char *endpoint);
int zmq_connect(void *socket, const char *endpoint);
int zmq_send(void *socket, const void *data, size_t size, int flags);
int zmq_msg_init(zmq_msg_t *msg);
int zmq_msg_recv(zmq_msg_t *msg, void *socket, int flags);
int zmq_msg_send(zmq_msg_t *msg, void *socket, int flags);
int zmq_msg_close(zmq_msg_t *msg);
int zmq_msg_more(const zmq_msg_t *msg);
void *zmq_msg_data(zmq_msg_t *msg);
size_t zmq_msg_size(const zmq_msg_t *msg);
int zmq_poll(zmq_pollitem_t *items, int count, long timeout);
int zmq_proxy(void *frontend, void *backend, void *capture);
