import type { LocalServer } from '../keep.ts'

/** The mock cannot be started again. */
export interface Kafka extends LocalServer {
  /** `mock` where no real broker could be had: tests that need one skip, with that reason. */
  kind: 'apache' | 'mock'
  /** Bootstrap servers, as MQ_BROKERS takes them. */
  brokers: string
  /** Where it keeps the segments of each partition, in a directory `<topic>-<partition>`; empty for the mock. */
  dataDir: string
}
