# What the jobs do, for who asks and for who works.
require "sidekiq"

url = "redis://127.0.0.1:#{ENV.fetch("TARN_PORT")}/0"
Sidekiq.configure_client { |config| config.redis = { url: url } }
Sidekiq.configure_server do |config|
  config.redis = { url: url }
  # Scheduled jobs are looked for often.
  config.respond_to?(:average_scheduled_poll_interval=) && config.average_scheduled_poll_interval = 1
end

class Add
  include Sidekiq::Worker

  def perform(key, number)
    Sidekiq.redis { |redis| redis.call("INCRBY", key, number) }
  rescue NoMethodError
    Sidekiq.redis { |redis| redis.incrby(key, number) }
  end
end

class FailOnce
  include Sidekiq::Worker
  sidekiq_options retry: 3
  sidekiq_retry_in { 1 }

  def perform(key)
    tries = Sidekiq.redis { |redis| redis.incr(key) }
    raise "not yet" if tries < 2
  end
end
