# Jobs of Sidekiq: plain, in bulk, scheduled and failing ones.
require_relative "work"
require "sidekiq/api"

JOBS = 200

def value(key)
  Sidekiq.redis { |redis| redis.get(key) }.to_i
end

def wait_until(what)
  deadline = Time.now + 120
  until yield
    raise "still not true: #{what}" if Time.now > deadline
    sleep 0.05
  end
end

JOBS.times { |n| Add.perform_async("sum", n) }
Sidekiq::Client.push_bulk("class" => Add, "args" => Array.new(JOBS) { ["bulk", 1] })
Add.perform_in(2, "later", 7)
FailOnce.perform_async("tries")

wait_until("all jobs are done") { value("sum") == JOBS * (JOBS - 1) / 2 }
wait_until("the bulk is done") { value("bulk") == JOBS }
wait_until("the scheduled job is done") { value("later") == 7 }
wait_until("the failing job is done") { value("tries") == 2 }
wait_until("the figures are there") { Sidekiq::Stats.new.processed >= 2 * JOBS + 2 }
raise "#{Sidekiq::Stats.new.failed} failed" unless Sidekiq::Stats.new.failed == 1
raise "something is left" unless Sidekiq::Queue.new.size.zero? && Sidekiq::RetrySet.new.size.zero?
