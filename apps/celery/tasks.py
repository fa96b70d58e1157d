"""Tasks for Celery, with Tarn as the broker and for the results."""

import os

from celery import Celery

URL = f"redis://127.0.0.1:{os.environ['TARN_PORT']}"
app = Celery("tasks", broker=f"{URL}/0", backend=f"{URL}/1")
app.conf.broker_connection_retry_on_startup = True


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=2)
def fails_once(self):
    if self.request.retries == 0:
        raise self.retry(countdown=0.1)
    return "done"
