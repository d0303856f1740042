import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config/config.ts'
import type { Batch, DecidedBatch } from '../core/batch/batch.ts'
import { createBatchLimit } from '../core/batch/batch-limit.ts'
import type { Channel } from '../core/decision/channel.ts'
import { parseEvent } from '../core/event/event.ts'
import type { RedriveResult, Rejected } from '../core/event/rejected-message.ts'
import { type Entry, idempotencyKey } from '../core/log/entry.ts'
import { explainNotTold, revisionsOf } from '../core/log/not-told.ts'
import type { RetriedEntry } from '../core/log/retry.ts'
import { diffRuleTables } from '../core/rules/diff.ts'
import { describeDiff } from '../core/rules/diff-text.ts'
import { RuleTableError } from '../core/rules/faults.ts'
import type { RuleTable } from '../core/rules/table.ts'
import { explain } from '../core/why/explain.ts'
import { rememberRules } from '../core/why/rules.ts'
import { templates } from '../generated/templates.ts'
import type { ConsoleData } from '../http/console/data.ts'
import { readConsolePage } from '../http/console/page.ts'
import type { LogEntries } from '../http/routes/log.ts'
import { createHttp, createManagement, type Http } from '../http/server/server.ts'
import { createConsumer } from '../kafka/consumer.ts'
import { createEndsReader } from '../kafka/ends.ts'
import { createPartyClient, type PartyClient } from '../party/client.ts'
import { type Assignment, createBacklog } from '../pipeline/backlog.ts'
import { type DispatchNeeds, dispatch } from '../pipeline/dispatch.ts'
import { createLocators } from '../pipeline/locators.ts'
import { createRetry, RETRY_MIN_PAUSE_MS } from '../pipeline/retry.ts'
import { isConflict, isUnreachable } from '../postgres/connection/errors.ts'
import { observedPool } from '../postgres/connection/observed-pool.ts'
import { type DatabasePool, openPool } from '../postgres/connection/pool.ts'
import { countFailedRows } from '../postgres/read/count-failed.ts'
import { countLogEntries } from '../postgres/read/count-log.ts'
import { countRuleHits } from '../postgres/read/count-rule-hits.ts'
import { listLogEntries } from '../postgres/read/list-log.ts'
import { listNotTold } from '../postgres/read/list-not-told.ts'
import { listPreferenceChanges } from '../postgres/read/list-preference-changes.ts'
import { lookUp } from '../postgres/read/look-up.ts'
import { type DueCursor, readDue } from '../postgres/read/read-due.ts'
import { readLogEntry } from '../postgres/read/read-log-entry.ts'
import { listRejected } from '../postgres/read/read-rejected.ts'
import { knownMigrations } from '../postgres/schema/migrate.ts'
import { missingMigrations } from '../postgres/schema/missing-migrations.ts'
import { activateRuleTable, listActivations } from '../postgres/write/activate-rule-table.ts'
import { archive, type Revision, readArchivedRuleTable } from '../postgres/write/archive.ts'
import { listCheckpoints, loadCheckpoint, resetCheckpoint } from '../postgres/write/checkpoints.ts'
import { commitBatch } from '../postgres/write/commit-batch.ts'
import { commitRedrive } from '../postgres/write/commit-redrive.ts'
import { commitRetries } from '../postgres/write/commit-retries.ts'
import { type Delivery, deliveryOf } from '../postgres/write/insert-entries.ts'
import { listPreferences, putPreferences, readPreferences } from '../postgres/write/preferences.ts'
import { createEmailSender } from '../senders/email.ts'
import { type Outgoing, sendByChannel } from '../senders/send.ts'
import { createSmsSender } from '../senders/sms.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import type { Trace, Tracing } from '../telemetry/tracing.ts'
import { type Policy, readPolicy, ruleTableOf } from './policy.ts'
import { retryWithBackOff } from './retry-with-back-off.ts'

/** One message is worked on at a time. */
const REDRIVE_CONNECTIONS = 2
const ALL_TEMPLATES = [...templates.byEventType.values(), templates.generic]

export interface App {
  /** Listens, then waits for the database, the schema and the broker by itself. Resolves to the URL once it listens. */
  start(): Promise<string>
  /** Stops in order: not ready, consumer and retry drained, HTTP closed, connections ended. */
  stop(): Promise<void>
  /** Rejects when consumption has ended for good; never resolves. */
  readonly failed: Promise<never>
}

/** Puts the service together. Rejects, naming every fault, if the rule table, its promises or the envelope map cannot be used. */
export async function createApp(config: Config, log: Logger): Promise<App> {
  const policy = await readPolicy()
  for (const warning of policy.warnings) log.warn(warning)
  const migrations = await knownMigrations()
  const parties = createParties(config, log)
  const tracing = await openTracing(config, log)
  const stopping = new AbortController()
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  let pool: DatabasePool | null = null
  let worker: Worker | null = null
  let management: Http | null = null
  const { broker } = config
  const ends = createEndsReader(broker.connection, broker.groupId, log)
  const metrics = createMetrics({
    version: packageJson.version,
    ruleTableRevision: policy.ruleTable.revision,
    backlog: createBacklog({
      assignment: () => worker?.assignment() ?? null,
      endsOf: ends.endsOf,
      firstSince: ends.firstSince,
      checkpoints: () => listCheckpoints(database(), broker.topics),
      failedRows: () => countFailedRows(database(), retryLimitsOf(config)),
      nowMs: Date.now,
    }),
    pool: () => pool && connectionsOf(pool),
    isPolicyAdministrationDown: parties.isDown,
  })

  const database = (): DatabasePool => {
    if (pool === null) throw new DatabaseNotReached()
    return pool
  }
  const rulesOf = rememberRules((revision) => readArchivedRuleTable(database(), revision))
  const logEntries: LogEntries = {
    list: (filter, page) => listLogEntries(database(), filter, page),
    get: async (locator) => {
      const entry = await readLogEntry(database(), locator)
      return entry && explain(entry, await rulesOf(entry.decisions))
    },
  }
  const isUnavailable = (error: unknown) => error instanceof DatabaseNotReached || isUnreachable(error)
  const http = createHttp({
    host: config.http.host,
    port: config.http.port,
    log,
    readiness: async () => {
      if (stopping.signal.aborted) return { ready: false, reason: 'the service is stopping' }
      if (pool === null) return { ready: false, reason: 'the database has not been reached yet' }
      const missing = await missingMigrations(pool, migrations)
      return missing === null ? { ready: true } : { ready: false, reason: missing }
    },
    logEntries,
    preferences: {
      list: (page) => listPreferences(database(), page),
      get: (partyLocator) => readPreferences(database(), partyLocator),
      put: (partyLocator, preferences, changedBy) =>
        putPreferences(database(), partyLocator, preferences, changedBy),
    },
    tokens: config.tokens,
    isUnavailable,
  })

  /** Waits for the database and its schema, then consumes and retries until stopped. */
  async function work(): Promise<void> {
    const { url, poolMax } = config.database
    pool = await retryWithBackOff('the database', log, stopping.signal, () =>
      openPool({ databaseUrl: url, connectionCountMax: poolMax }),
    )
    await retryWithBackOff('the schema', log, stopping.signal, async () => {
      const missing = await missingMigrations(database(), migrations)
      if (missing !== null) throw new Error(missing)
      await archive(database(), policy.ruleTable, ALL_TEMPLATES)
      const activation = await activateRuleTable(database(), policy.ruleTable.revision, config.gitCommit)
      if (activation !== null) await logActivation(policy.ruleTable, activation.before, config.gitCommit, log)
    })
    if (stopping.signal.aborted) return
    worker = createWorker(config, policy, parties, pool, metrics, tracing, log)
    await worker.run()
  }

  return {
    failed: failed.promise,
    start: async () => {
      const { url } = await http.listen()
      if (config.management !== null) {
        const document = await http.document()
        management = createManagement({
          ...config.management,
          log,
          document,
          exposeMetrics: metrics.expose,
          consolePage: readConsolePage(),
          consoleData: consoleDataOf(config, policy.ruleTable, logEntries, rulesOf, database),
          tokens: config.tokens,
          isUnavailable,
        })
        log.info(await management.listen(), 'the management listener is up')
      }
      work().catch((error) => {
        if (!stopping.signal.aborted) failed.reject(error)
      })
      return url
    },
    stop: async () => {
      stopping.abort()
      await worker?.stop()
      await Promise.all([http.close(), management?.close()])
      await Promise.all([parties.close(), ends.close()])
      await pool?.end()
      await tracing?.stop()
    },
  }
}

/** The library is loaded only where it is wanted. */
async function openTracing({ tracing, batchMax }: Config, log: Logger): Promise<Tracing | null> {
  if (tracing === null) return null
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing({ ...tracing, batchMax, version: packageJson.version }, log)
}

/** What the console shows, from a database that need not have been reached yet. */
function consoleDataOf(
  config: Config,
  { revision, rules }: RuleTable,
  logEntries: LogEntries,
  rulesOf: ReturnType<typeof rememberRules>,
  database: () => DatabasePool,
): ConsoleData {
  return {
    logEntries,
    countEntries: async (window) => countLogEntries(database(), window),
    preferences: {
      get: async (partyLocator) => readPreferences(database(), partyLocator),
      changes: async (partyLocator, countMax) => listPreferenceChanges(database(), partyLocator, countMax),
    },
    listNotTold: async (filter, page) => {
      const { items, next } = await listNotTold(database(), retryLimitsOf(config), filter, page)
      return { items: explainNotTold(items, await rulesOf(revisionsOf(items))), next }
    },
    listRejected: async (query, page) => listRejected(database(), { ...query, ids: null, since: null }, page),
    rulesInForce: {
      revision,
      rules,
      activation: async () =>
        (await listActivations(database())).findLast((activation) => activation.revision === revision) ??
        null,
      hits: async () => countRuleHits(database(), revision),
    },
  }
}

/** Says in sentences what a rule table that comes into force changes. */
async function logActivation(
  table: RuleTable,
  before: Revision | null,
  gitCommit: string | null,
  log: Logger,
): Promise<void> {
  const fields = { revision: table.revision, gitCommit, revisionBefore: before?.revision ?? null }
  if (before === null) return log.info(fields, 'a rule table is in force for the first time')
  try {
    const changes = describeDiff(diffRuleTables(await ruleTableOf(before.source), table))
    log.info({ ...fields, changes }, `a new rule table is in force: ${changes[0]}`)
  } catch (error) {
    if (!(error instanceof RuleTableError)) throw error
    log.warn(
      { ...fields, faults: error.faults },
      'a new rule table is in force; the one before cannot be compared: this version would refuse it',
    )
  }
}

interface Worker {
  /** The partitions that are consumed here, by topic; null: it is no member of the consumer group. */
  assignment(): Assignment | null
  run(): Promise<void>
  stop(): Promise<void>
}

/** The consumer and the retry over a database that is ready. */
function createWorker(
  config: Config,
  policy: Policy,
  parties: PartyClient,
  pool: DatabasePool,
  metrics: Metrics,
  tracing: Tracing | null,
  log: Logger,
): Worker {
  const { ruleTable } = policy
  const { broker } = config
  const deliver = metrics.timed('send', createDelivery(config, log))
  const batchLimit = createBatchLimit(config.batchMax, config.policyAdministration.deadlineMs)
  const contactsOf: PartyClient['lookUp'] = async (partyLocators, onAnswer) => {
    const startMs = performance.now()
    const contacts = await parties.lookUp(partyLocators, onAnswer)
    if (!parties.isDown()) batchLimit.note(contacts, performance.now() - startMs)
    metrics.resolved(contacts)
    return contacts
  }
  const pipeline = createPipeline(policy, parties, pool)
  const needsOf = (database: DatabasePool, contactsOf: PartyClient['lookUp']): DispatchNeeds => ({
    ...pipeline,
    lookUp: metrics.timed('look_up', (eventIds, partyLocators) => lookUp(database, eventIds, partyLocators)),
    contactsOf: metrics.timed('contacts', contactsOf),
    commit: metrics.timed('commit', async (batch) => {
      const refused = new Set<string>()
      const result = await commitBatch(database, batch, (inserted) =>
        noting(refused, deliver(messagesOf(inserted, messageOfEntry))),
      )
      metrics.committed(result, refused)
      return result
    }),
    isConflict: (error) => {
      const conflict = isConflict(error)
      if (conflict) metrics.conflict()
      return conflict
    },
  })
  const needs = needsOf(pool, contactsOf)
  const needsWithin = (trace: Trace): DispatchNeeds =>
    needsOf(observedPool(pool, trace.statement), (partyLocators, onAnswer) =>
      trace.contacts(partyLocators.length, () => contactsOf(partyLocators, onAnswer)),
    )
  const consumer = createConsumer(
    {
      connection: broker.connection,
      groupId: broker.groupId,
      topics: broker.topics,
      sessionTimeoutMs: broker.sessionTimeoutMs,
      partitionCountMax: broker.partitionsAtOnce,
      batchCountMax: batchLimit.count,
    },
    {
      loadCheckpoint: (topic, partition) => loadCheckpoint(pool, topic, partition),
      resetCheckpoint: (topic, partition, held, offset) =>
        resetCheckpoint(pool, topic, partition, held, offset),
      dispatch: (batch, heartbeat) =>
        metrics.dispatched(batch, () =>
          tracing === null
            ? dispatch(needs, batch, heartbeat)
            : tracing.batch(batch, (trace) => dispatch(needsWithin(trace), batch, heartbeat)),
        ),
    },
    log,
  )
  const dueLimits = { ...retryLimitsOf(config), minPauseMs: RETRY_MIN_PAUSE_MS }
  const retry = createRetry<DueCursor>({
    readDue: (after, countMax) => readDue(pool, dueLimits, after, countMax),
    preferencesOf: async (partyLocators) => (await lookUp(pool, [], partyLocators)).preferences,
    contactsOf: (partyLocators) => contactsOf(partyLocators),
    isDown: parties.isDown,
    decide: ruleTable.decide,
    commit: async (retried) => {
      const refused = new Set<string>()
      const commitIn = (database: DatabasePool) =>
        commitRetries(
          database,
          ruleTable.revision,
          retried,
          (locked) => noting(refused, deliver(messagesOf(locked, messageOfRetry))),
          log,
        )
      const made =
        tracing === null
          ? await commitIn(pool)
          : await tracing.retry(retried.length, (trace) => commitIn(observedPool(pool, trace.statement)))
      metrics.retried(made, refused)
      return made
    },
    clock: {
      nowMs: () => performance.now(),
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    },
    log,
  })
  return {
    assignment: consumer.assignment,
    run: async () => {
      retry.start()
      await consumer.run()
    },
    stop: async () => {
      await Promise.all([consumer.stop(), retry.stop()])
    },
  }
}

function retryLimitsOf({ retry: { maxAgeMs, maxAttempts } }: Config) {
  return { maxAgeMs, attemptCountMax: maxAttempts }
}

function connectionsOf(pool: DatabasePool) {
  const { acquiredConnections, idleConnections, waitingClients } = pool.state()
  return { acquired: acquiredConnections, idle: idleConnections, waiters: waitingClients }
}

/** Keeps the locators of the rows whose sender failed, as of the last time that they were sent. */
async function noting(
  refused: Set<string>,
  sending: Promise<ReadonlyMap<string, Delivery>>,
): Promise<ReadonlyMap<string, Delivery>> {
  const deliveries = await sending
  deliveries.forEach(({ error }, locator) => {
    if (error === null) refused.delete(locator)
    else refused.add(locator)
  })
  return deliveries
}

function createParties({ policyAdministration }: Config, log: Logger): PartyClient {
  return createPartyClient({
    baseUrl: policyAdministration.url,
    connectionCountMax: policyAdministration.connections,
    pipeliningMax: policyAdministration.pipelining,
    deadlineMs: policyAdministration.deadlineMs,
    log,
  })
}

/** All that a batch goes through before it is committed. */
function createPipeline(
  { ruleTable, envelopeMap }: Policy,
  parties: PartyClient,
  pool: DatabasePool,
): Omit<DispatchNeeds, 'commit'> {
  return {
    parse: (message) => parseEvent(message, envelopeMap),
    lookUp: (eventIds, partyLocators) => lookUp(pool, eventIds, partyLocators),
    contactsOf: (partyLocators, onAnswer) => parties.lookUp(partyLocators, onAnswer),
    ruleTable,
    templates,
    isConflict,
    newLocator: createLocators(),
  }
}

/** Takes rejected messages through the pipeline again, one by one; reads them, too. */
export interface Redriver {
  readonly pool: DatabasePool
  /** Writes what the message comes to, and that `by` had it redriven. */
  redrive(rejected: Rejected, by: string): Promise<RedriveResult>
  /** Asks what `redrive` asks, and writes nothing: what would be written. */
  tryOut(rejected: Rejected): Promise<DecidedBatch>
  close(): Promise<void>
}

/** Rejects where the database cannot be reached, or the rule table or the envelope map cannot be used. */
export async function createRedriver(config: Config, log: Logger): Promise<Redriver> {
  const policy = await readPolicy()
  const pool = await openPool({ databaseUrl: config.database.url, connectionCountMax: REDRIVE_CONNECTIONS })
  await archive(pool, policy.ruleTable, ALL_TEMPLATES)
  const parties = createParties(config, log)
  const deliver = createDelivery(config, log)
  const pipeline = createPipeline(policy, parties, pool)
  const send = <Result>(rejected: Rejected, commit: (batch: DecidedBatch) => Promise<Result>) =>
    dispatch({ ...pipeline, commit }, batchOf(rejected), async () => {})
  return {
    pool,
    redrive: (rejected, by) =>
      send(rejected, (batch) =>
        commitRedrive(pool, { rejectedId: rejected.id, by }, batch, (inserted) =>
          deliver(messagesOf(inserted, messageOfEntry)),
        ),
      ),
    tryOut: (rejected) => send(rejected, async (batch) => batch),
    close: async () => {
      await parties.close()
      await pool.end()
    },
  }
}

/** Where it came from is kept; no checkpoint has to do with it. */
function batchOf({ topic, partition, message }: Rejected): Batch {
  const { offset } = message
  return { topic, partition, messages: [message], heldOffset: offset, nextOffset: offset, lastMessage: null }
}

/** A message on its way, and the row that it belongs to. */
interface RowMessage extends Outgoing {
  readonly locator: string
}

/** Sends the messages of rows and says, by the rows' locators, what became of them. */
function createDelivery(config: Config, log: Logger) {
  const send = sendByChannel({
    EMAIL: createEmailSender({ smtpHost: config.smtp.host, smtpPort: config.smtp.port, log }),
    SMS: createSmsSender({ log }),
  })
  return async (messages: readonly RowMessage[]): Promise<ReadonlyMap<string, Delivery>> => {
    const results = await send(messages)
    const deliveries = new Map<string, Delivery>()
    messages.forEach(({ locator }, i) => void deliveries.set(locator, deliveryOf(results[i] ?? null)))
    return deliveries
  }
}

/** What is to be sent of these rows. */
function messagesOf<Row>(
  rows: readonly Row[],
  messageOf: (row: Row) => RowMessage | null,
): readonly RowMessage[] {
  const messages: RowMessage[] = []
  for (const row of rows) {
    const message = messageOf(row)
    if (message !== null) messages.push(message)
  }
  return messages
}

function messageOfEntry({ locator, event, decision, text, address, attemptCount }: Entry): RowMessage | null {
  if (decision.outcome !== 'SEND' || text === null) return null
  return rowMessage(locator, event.eventId, decision.channel, attemptCount, address, text)
}

function messageOfRetry({ due, decision, address, attemptCount }: RetriedEntry): RowMessage | null {
  if (decision.outcome !== 'SEND') return null
  return rowMessage(due.locator, due.eventId, decision.channel, attemptCount, address, due)
}

function rowMessage(
  locator: string,
  eventId: string,
  channel: Channel,
  attempt: number,
  to: string | null,
  { subject, body }: Pick<Outgoing, 'subject' | 'body'>,
): RowMessage {
  return { locator, channel, idempotencyKey: idempotencyKey(eventId, attempt), to, subject, body }
}

class DatabaseNotReached extends Error {
  override readonly message = 'the database has not been reached yet'
}
