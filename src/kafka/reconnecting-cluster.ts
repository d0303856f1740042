import type { Kafka } from 'kafkajs'
import { type Cluster, createCluster } from './cluster.ts'

export interface Connection {
  readonly cluster: Cluster
  /** Topics that were found to exist by this connection; whoever asks for one adds it. */
  readonly known: Set<string>
}

/**
 * The brokers, connected to by the first question. Whatever is wrong, the next question is asked on new connections, with
 * nothing known before.
 */
export function createReconnectingCluster(kafka: Kafka, metadataAgeMaxMs: number) {
  let connecting: Promise<Connection> | null = null

  function connected(): Promise<Connection> {
    connecting ??= connect().catch((error) => {
      connecting = null
      throw error
    })
    return connecting
  }

  async function connect(): Promise<Connection> {
    const cluster = createCluster(kafka, metadataAgeMaxMs)
    await cluster.connect()
    return { cluster, known: new Set() }
  }

  async function close(): Promise<void> {
    const closing = connecting
    connecting = null
    await closing?.then(({ cluster }) => cluster.disconnect()).catch(() => {})
  }

  async function ask<T>(question: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await question(await connected())
    } catch (error) {
      await close()
      throw error
    }
  }

  return { ask, close }
}
