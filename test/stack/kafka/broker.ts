/** A broker that tests may stop, kill and start again. */
export interface Kafka {
  /** `mock` where no real broker could be had: tests that need one skip, with that reason. */
  kind: 'apache' | 'mock'
  /** Bootstrap servers, as MQ_BROKERS takes them. */
  brokers: string
  /** Where it keeps the segments of each partition, in a directory `<topic>-<partition>`; empty for the mock. */
  dataDir: string
  /** Starts it again on the same port with the same data, after `stop` or `kill`; the mock cannot. */
  start(): Promise<void>
  /** Orderly shutdown. The data stays. */
  stop(): Promise<void>
  /** SIGKILL. The data stays. */
  kill(): Promise<void>
  /** Stops it and removes its data. */
  close(): Promise<void>
  /** Of the broker; undefined while it is stopped. */
  pid(): number | undefined
  /** Resolves, to how it ended, when the process that runs now has. */
  ended(): Promise<string>
  /** The end of what it has written to its log. */
  logTail(): Promise<string>
}
