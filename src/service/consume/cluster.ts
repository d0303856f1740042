import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type BrokerMetadata } from 'kafkajs'
import type Broker from 'kafkajs/src/broker/index.js'
import errors from 'kafkajs/src/protocol/error.js'
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import type { Logger } from 'pino'
import { partitionKey, type TopicPartition } from '../decide/event/position.ts'
import type { BlockReason } from '../model/block-reasons.ts'
import { CodedError } from '../text/error-codes.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { type Address, createClient, type KafkaConnection } from './kafka-client.ts'

/** A topic or partition that cannot be fetched, with the start of the problem in ms since 1970. */
export interface UnservedState {
  readonly topic: string
  readonly reason: Extract<BlockReason, 'no-rights' | 'no-leader' | 'no-answer'>
  readonly sinceMs: number
}

interface Topic {
  /** Kafka's name of the error, such as UNKNOWN_TOPIC_OR_PARTITION, or null. */
  readonly error: string | null
  /** The id of each partition's leader; -1 if there is none. */
  readonly leaders: ReadonlyMap<number, number>
}

/** Connections to a broker, of which the first is logged in once `isConnected`. */
interface Link {
  readonly broker: Broker
  readonly connected: Promise<Broker>
  isConnected: boolean
}

/** One broker. After anything odd the next request gets new connections. */
interface Node {
  readonly address: Address
  link: Link | null
  /** Time of the last request that was not answered in time; 0 after an answer. */
  failedMs: number
  /** When it was last asked what any broker can answer. */
  askedMs: number
}

/** Kafka's code for a topic that this user may not see; it has no partitions. */
const NO_RIGHTS = 29
/** More than it takes to find one of three brokers, of which two do not answer. */
const ANSWER_MAX_MS = 10_000
/** A broker that takes longer than this does not keep the next one from being asked. */
const NEXT_BROKER_MS = 1_000
const METADATA_AGE_MAX_MS = 10_000
const GROUP_COORDINATOR = 0

/**
 * The brokers of a cluster, over kafkajs's connections and requests. A broker that does not answer holds up only what is asked
 * of it: what any broker can answer is asked of the next one too. Errors are kafkajs's, and ETIMEDOUT.
 */
export class Cluster {
  readonly #createBroker: (address: Address) => Broker
  readonly #answerMaxMs: number
  readonly #logsIn: boolean
  readonly #seeds: readonly Node[]
  readonly #nodes = new Map<number, Node>()
  /** Connections for one request each. */
  readonly #apart = new Set<Node>()
  readonly #wanted = new Set<string>()
  #unserved: ReadonlyMap<string, UnservedState> = new Map()
  #topics: ReadonlyMap<string, Topic> = new Map()
  #refreshedMs = Number.NEGATIVE_INFINITY
  #refreshCount = 0
  #refreshing: Promise<void> | null = null
  #isClosed = false

  constructor(connection: KafkaConnection, clientId: string, log: Logger, answerMaxMs = ANSWER_MAX_MS) {
    this.#createBroker = createClient(connection, clientId, log)
    this.#answerMaxMs = answerMaxMs
    this.#logsIn = connection.sasl !== null
    this.#seeds = connection.brokers.map((name) => newNode(parseAddress(name)))
  }

  /** Grows with each successful refresh of the metadata. */
  get refreshCount(): number {
    return this.#refreshCount
  }

  /** Asks one broker. Rejects with ETIMEDOUT without an answer in time. */
  async ask<T>(
    nodeId: number,
    request: (broker: Broker) => Promise<T>,
    maxMs = this.#answerMaxMs,
  ): Promise<T> {
    return this.#askNode(this.#requireNode(nodeId), request, maxMs)
  }

  /** The same over a connection of its own, for a request that keeps a broker from answering others on its connection. */
  async askApart<T>(nodeId: number, request: (broker: Broker) => Promise<T>, maxMs: number): Promise<T> {
    const node = newNode(this.#requireNode(nodeId).address)
    this.#apart.add(node)
    try {
      return await this.#askNode(node, request, maxMs)
    } finally {
      this.#apart.delete(node)
      disconnect(node, 'this connection was for one request')
    }
  }

  /** Metadata of these topics, at most 10 s old, and of those asked for before. */
  async topics(names: readonly string[]): Promise<ReadonlyMap<string, Topic>> {
    const isKnown = names.every((name) => this.#wanted.has(name))
    for (const name of names) this.#wanted.add(name)
    // A running refresh may have left without the new names.
    if (!isKnown) await this.#refreshing?.catch(() => {})
    if (!isKnown || performance.now() - this.#refreshedMs > METADATA_AGE_MAX_MS) await this.refresh()
    return this.#topics
  }

  /** Reads the metadata of all topics asked for. Callers share a running read. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  /** By the last metadata: -1 without a leader, undefined for an unknown partition. */
  leaderOf({ topic, partition }: TopicPartition): number | undefined {
    return this.#topics.get(topic)?.leaders.get(partition)
  }

  /** Rejects, and refreshes, unless most brokers name this leader: one that is cut off from the others still names itself. */
  async requireAgreedLeader({ topic, partition }: TopicPartition, leader: number): Promise<void> {
    const nodes = [...this.#nodes.values()]
    const agreed = Promise.withResolvers<boolean>()
    let agreedCount = 0
    const asked = nodes.map(async (node) => {
      const request = (broker: Broker) => requestMetadata(broker, [topic])
      const { topicMetadata } = await this.#askNode(node, request, this.#answerMaxMs)
      const found = topicMetadata.find((metadata) => metadata.topic === topic)?.partitionMetadata
      const isNamed = found?.find(({ partitionId }) => partitionId === partition)?.leader === leader
      if (isNamed && ++agreedCount > nodes.length / 2) agreed.resolve(true)
    })
    void Promise.allSettled(asked).then(() => agreed.resolve(false))
    if (await agreed.promise) return
    await this.refresh()
    throw new Error(
      `most brokers do not name broker ${leader} as the leader of ${partitionKey({ topic, partition })}`,
    )
  }

  /** All topics that this user may see, and the number of brokers. Rejects if none can be reached at the address that it advertises. */
  async describe(): Promise<{ readonly brokerCount: number; readonly topics: readonly string[] }> {
    const { brokers, topicMetadata } = await this.#askAny((broker) => requestMetadata(broker, []))
    const reached = brokers.map(({ nodeId, host, port }) => {
      this.#place(nodeId, { host, port })
      return this.ask(nodeId, async () => {})
    })
    await Promise.any(reached).catch((error: AggregateError) => Promise.reject(error.errors[0]))
    return { brokerCount: brokers.length, topics: topicMetadata.map(({ topic }) => topic) }
  }

  /** The id of the broker that coordinates a group. */
  async findCoordinator(groupId: string): Promise<number> {
    const request = { groupId, coordinatorType: GROUP_COORDINATOR }
    const { coordinator } = await this.#askAny((broker) => broker.findGroupCoordinator(request))
    const { nodeId, host, port } = coordinator
    this.#place(nodeId, { host, port })
    return nodeId
  }

  /** The reason, by the last metadata, why nothing of a partition can be fetched, or null. */
  unservedReason({ topic, partition }: TopicPartition): UnservedState | null {
    return this.#unserved.get(topic) ?? this.#unserved.get(partitionKey({ topic, partition })) ?? null
  }

  /** Unserved topics and partitions among these topics, by `topic` or `topic/partition`. */
  listUnserved(topics: readonly string[]): readonly (readonly [string, UnservedState])[] {
    return [...this.#unserved].filter(([, { topic }]) => topics.includes(topic))
  }

  /** Requests in flight fail. */
  close(): void {
    this.#isClosed = true
    for (const node of [...this.#seeds, ...this.#nodes.values(), ...this.#apart])
      disconnect(node, 'the connections to the brokers are closed')
  }

  async #refresh(): Promise<void> {
    const names = [...this.#wanted]
    const { brokers, topicMetadata } = await this.#askAny((broker) => requestMetadata(broker, names))
    for (const { nodeId, host, port } of brokers) this.#place(nodeId, { host, port })
    for (const nodeId of this.#nodes.keys())
      if (!brokers.some((broker) => broker.nodeId === nodeId)) this.#remove(nodeId)
    const topics = new Map<string, Topic>()
    const unserved = new Map<string, UnservedState>()
    const note = (name: string, topic: string, reason: UnservedState['reason']) => {
      const before = this.#unserved.get(name)
      unserved.set(name, before?.reason === reason ? before : { topic, reason, sinceMs: Date.now() })
    }
    for (const { topic, topicErrorCode, partitionMetadata } of topicMetadata) {
      if (!this.#wanted.has(topic)) continue
      const error = topicErrorCode === 0 ? null : errors.createErrorFromCode(topicErrorCode)
      if (topicErrorCode === NO_RIGHTS) note(topic, topic, 'no-rights')
      for (const { partitionId, leader } of partitionMetadata)
        if (leader < 0) note(partitionKey({ topic, partition: partitionId }), topic, 'no-leader')
      const leaders = new Map(partitionMetadata.map(({ partitionId, leader }) => [partitionId, leader]))
      topics.set(topic, { error: error?.type ?? null, leaders })
    }
    this.#topics = topics
    this.#unserved = unserved
    this.#refreshedMs = performance.now()
    this.#refreshCount++
  }

  /**
   * The first answer of any broker. Those of the cluster are asked before the addresses of MQ_BROKERS, of which one may have left it:
   * first those without a failure, in turn, since one that is cut off from the others does not know it; then those whose failure is
   * longest ago.
   */
  async #askAny<T>(request: (broker: Broker) => Promise<T>): Promise<T> {
    const inTurn = (one: Node, other: Node) => one.failedMs - other.failedMs || one.askedMs - other.askedMs
    const known = [...this.#nodes.values()].sort(inTurn)
    const seeds = this.#seeds.filter((seed) => !known.includes(seed)).sort(inTurn)
    const candidates = [...known, ...seeds]
    const answers: Promise<T>[] = []
    for (const node of candidates) {
      node.askedMs = performance.now()
      const answer = this.#askNode(node, request, this.#answerMaxMs)
      answers.push(answer)
      // The next broker is asked once this one fails or is late, unless an earlier one answers meanwhile.
      const outcome = await Promise.race([
        isFulfilled(answer),
        isFulfilled(Promise.any(answers)),
        sleep(NEXT_BROKER_MS, 'late' as const, { ref: false }),
      ])
      if (outcome === true) break
      if (outcome === 'late') node.failedMs = performance.now()
    }
    return Promise.any(answers).catch(({ errors }: AggregateError) => Promise.reject(errors.at(-1)))
  }

  #requireNode(nodeId: number): Node {
    const node = this.#nodes.get(nodeId)
    if (node === undefined) throw new Error(`broker ${nodeId} is unknown`)
    return node
  }

  async #askNode<T>(node: Node, request: (broker: Broker) => Promise<T>, maxMs: number): Promise<T> {
    if (this.#isClosed) throw new Error('the connections to the brokers are closed')
    const link = this.#connect(node)
    try {
      const answer = await withinTime(maxMs, link.connected.then(request))
      node.failedMs = 0
      return answer
    } catch (error) {
      if (!link.isConnected || !(error instanceof kafkajs.KafkaJSProtocolError)) {
        node.failedMs = performance.now()
        drop(node, link, error as Error)
      }
      throw error
    }
  }

  #connect(node: Node): Link {
    if (node.link?.isConnected && !this.#isUsable(node.link.broker)) {
      // Requests in flight may still be answered.
      void node.link.broker.disconnect()
      node.link = null
    }
    if (node.link !== null) return node.link
    const broker = this.#createBroker(node.address)
    const link: Link = {
      broker,
      isConnected: false,
      connected: withinTime(this.#answerMaxMs, broker.connect()).then(() => {
        link.isConnected = true
        return broker
      }),
    }
    node.link = link
    return link
  }

  /**
   * False once the connection is closed, or its log-in is about to end. kafkajs itself would connect once for each request that
   * waits, and while it logs in again, it takes any answer for that of the log-in.
   */
  #isUsable({ connectionPool: { pool } }: Broker): boolean {
    return pool[0].isConnected() && (!this.#logsIn || pool[0].isAuthenticated())
  }

  /** A broker that has another address now gets new connections. */
  #place(nodeId: number, address: Address): void {
    const known = this.#nodes.get(nodeId)
    if (known !== undefined && formatAddress(known.address) === formatAddress(address)) return
    const seed = this.#seeds.find((node) => formatAddress(node.address) === formatAddress(address))
    this.#remove(nodeId)
    this.#nodes.set(nodeId, seed ?? newNode(address))
  }

  /** The broker has left the cluster, or has another address now. */
  #remove(nodeId: number): void {
    const node = this.#nodes.get(nodeId)
    this.#nodes.delete(nodeId)
    if (node !== undefined) disconnect(node, `broker ${nodeId} is not there any more`)
  }
}

function newNode(address: Address): Node {
  return { address, link: null, failedMs: 0, askedMs: 0 }
}

/** Rejects with ETIMEDOUT if the broker has not answered by then. */
function withinTime<T>(maxMs: number, answer: Promise<T>): Promise<T> {
  return withTimeout(maxMs, answer, () => {
    throw new CodedError('ETIMEDOUT', `no response from the brokers within ${maxMs / 1_000} s`)
  })
}

function isFulfilled(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}

/** Requests in flight fail for this reason. */
function disconnect(node: Node, reason: string): void {
  if (node.link !== null) drop(node, node.link, new Error(reason))
}

/** Requests in flight fail with this error. kafkajs itself would wait for their answers. */
function drop(node: Node, link: Link, error: Error): void {
  if (node.link === link) node.link = null
  for (const connection of link.broker.connectionPool.pool) {
    void connection.disconnect()
    connection.rejectRequests(error)
    connection.socket?.destroy()
  }
}

function requestMetadata(broker: Broker, topics: readonly string[]): Promise<BrokerMetadata> {
  const protocol = broker.lookupRequest(apiKeys.Metadata, requests.requests.Metadata)
  const { request, response } = protocol({ topics, allowAutoTopicCreation: false })
  // kafkajs's own parser rejects the whole response for one partition without a leader, or one topic without rights.
  const parse = async (decoded: BrokerMetadata) => decoded
  return broker.connectionPool.send({ request, response: { decode: response.decode, parse } })
}

function parseAddress(name: string): Address {
  const at = name.lastIndexOf(':')
  return { host: name.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(name.slice(at + 1)) }
}

function formatAddress({ host, port }: Address): string {
  return `${host}:${port}`
}
