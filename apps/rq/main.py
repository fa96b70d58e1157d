"""Jobs of RQ: plain, dependent, scheduled and failing ones."""

import logging
import sys
import time
from datetime import timedelta

import redis
import rq
from rq.scheduler import RQScheduler

from work import double, fail

JOBS = 50


def main():
    connection = redis.Redis(port=int(sys.argv[1]))
    queue = rq.Queue("jobs", connection=connection)
    jobs = [queue.enqueue(double, n) for n in range(JOBS)]
    dependent = queue.enqueue(double, 100, depends_on=jobs[0])
    scheduled = queue.enqueue_in(timedelta(seconds=1), double, 7)
    failing = queue.enqueue(fail)
    worker = rq.SimpleWorker([queue], connection=connection)
    worker.work(burst=True, logging_level=logging.CRITICAL)
    scheduler = RQScheduler([queue], connection=connection)
    scheduler.acquire_locks()
    while scheduled.get_status() == rq.job.JobStatus.SCHEDULED:
        time.sleep(0.1)
        scheduler.enqueue_scheduled_jobs()
    scheduler.release_locks()
    worker.work(burst=True, logging_level=logging.CRITICAL)
    assert [job.return_value(refresh=True) for job in jobs] == [n * 2 for n in range(JOBS)]
    assert dependent.return_value(refresh=True) == 200
    assert scheduled.return_value(refresh=True) == 14
    assert failing.get_status() == rq.job.JobStatus.FAILED
    assert len(queue.failed_job_registry) == 1


main()
