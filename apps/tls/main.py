"""redis-py over TLS: commands, a pipeline, a pool, messages, and a server that is not trusted."""
import os
import sys
import threading

import redis

port, certs = int(sys.argv[1]), sys.argv[2]


def client(**changes):
    options = dict(
        host="127.0.0.1",
        port=port,
        ssl=True,
        ssl_ca_certs=os.path.join(certs, "ca.pem"),
        ssl_certfile=os.path.join(certs, "client.pem"),
        ssl_keyfile=os.path.join(certs, "client.key"),
        ssl_check_hostname=True,
    )
    options.update(changes)
    return redis.Redis(**options)


for protocol in (2, 3):
    r = client(protocol=protocol)
    assert r.ping()
    big = os.urandom(3_000_000)
    assert r.set("big", big) and r.get("big") == big
    with r.pipeline(transaction=False) as pipe:
        for n in range(10_000):
            pipe.set(f"k{n}", "v" * (n % 300))
        assert all(pipe.execute())
    assert r.mget("k1", "k299") == [b"v", b"v" * 299]
    with r.pipeline() as pipe:
        assert pipe.delete("n").incr("n").incr("n").execute()[1:] == [1, 2]

    listener = r.pubsub(ignore_subscribe_messages=True)
    listener.subscribe("c")
    while listener.get_message(timeout=5) is not None:
        pass
    assert r.publish("c", "hello") == 1
    message = None
    while message is None:
        message = listener.get_message(timeout=5)
    assert message["data"] == b"hello", message
    listener.close()

    pool = client(protocol=protocol)
    failures = []

    def work(number):
        try:
            for n in range(200):
                pool.set(f"{number}:{n}", n)
                assert int(pool.get(f"{number}:{n}")) == n
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures

for changes in (
    dict(ssl_ca_certs=os.path.join(certs, "other.pem")),
    dict(ssl_certfile=None, ssl_keyfile=None),
    dict(ssl=False),
):
    try:
        client(**changes).ping()
    except (redis.ConnectionError, redis.ResponseError, redis.TimeoutError):
        continue
    raise SystemExit(f"{changes} was let in")
print("ok")
