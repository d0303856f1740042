import { withBrokers } from '../../service/app/clients.ts'
import { loadConfig, loadTopics } from '../../service/config/config.ts'
import type { Brokers } from '../../service/consume/brokers.ts'
import {
  countHeld,
  describeHold,
  describeUnknownTopics,
  findHold,
  type Hold,
} from '../../service/model/request/hold.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { listReplicas } from '../../service/store/read/list-replicas.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import { awaitAttempts } from '../../service/store/write/attempts-lock.ts'
import { addRequest } from '../../service/store/write/request-row.ts'
import { resumeHolds } from '../../service/store/write/resume-holds.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import { confirm, type WriteOptions, withWriteOptions } from '../../terminal/confirm.ts'
import { newCommand, notBlank, UsageError } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { listPositions } from '../checkpoints/list-positions.ts'
import { checkAsked } from '../requests/follow.ts'

interface HoldOptions extends WriteOptions {
  readonly topic?: readonly string[]
  readonly because?: string
  readonly show?: true
}

export const holdCommand = (world: World) =>
  withWriteOptions(
    newCommand('hold', {
      notes: `No message is sent from the moment that the command ends until \`resume\`, not even after a restart. Events wait in the broker, which must
keep them that long; nothing is skipped or failed. A topic must be one of MQ_TOPICS. Replicas of version 1.0.0 or earlier do not heed a hold: stop them.`,
      exitCodes: '0 in force, 1 declined or failed; with --show: 0 shown',
      example: 'hold --topic claims --because "the text of claim.paid is wrong"',
    }),
  )
    .description('hold all messages, of every event or of those of some topics: lose nothing, send nothing')
    .option('--topic <name...>', 'only events of these topics; by default of all', addTopic)
    .option('--because <text>', 'why; recorded, and shown wherever the service shows its state')
    .option('--show', 'show the holds in force, and change nothing')
    .option('--json', 'print the holds in force as JSON')
    .action((options: HoldOptions) => holdTopics(world, options))

function addTopic(topic: string, previous: readonly string[] = []): string[] {
  return [...previous, notBlank(topic)]
}

async function holdTopics(world: World, options: HoldOptions): Promise<void> {
  const { topic, because = '', by, show, json } = options
  if (!show) checkAsked(options, [])
  await withDatabase(world, async (pool) => {
    if (show) return showHolds(world, pool, json)
    await requireTopics(world, pool, topic ?? [])
    const what = topic === undefined ? 'all messages' : `all messages about events of ${topic.join(', ')}`
    if (!(await confirm(world, `Hold ${what}?`, options)))
      return note(world, 'Not confirmed: nothing is held')
    const target = topic === undefined ? {} : { topics: topic }
    const id = await addRequest(pool, { kind: 'hold', target }, by, because)
    note(world, `request ${id}: held; waiting for the batches under way`)
    await awaitAttempts(pool)
    await showHolds(world, pool, json)
  })
}

/** Throws UsageError for a topic that no replica reads or, if no replica is known, that is not in this shell's MQ_TOPICS. */
async function requireTopics(world: World, pool: DatabasePool, topics: readonly string[]): Promise<void> {
  if (topics.length === 0) return
  const replicas = await listReplicas(pool)
  const read = new Set(replicas.flatMap((replica) => replica.topics))
  const unknown = describeUnknownTopics(topics, read.size === 0 ? loadTopics(world.env) : [...read])
  if (unknown !== null) throw new UsageError(unknown)
}

async function showHolds(world: World, pool: DatabasePool, json?: true): Promise<void> {
  const holds = await readHolds(pool)
  const waiting = holds.length === 0 ? null : await readWaiting(world, pool)
  const shown = holds.map((hold) => ({ ...hold, waiting: waiting && countHeld(hold, waiting) }))
  if (json) return print(world, JSON.stringify(shown))
  if (holds.length === 0) note(world, 'no hold is in force')
  else if (waiting === null) note(world, 'set the MQ_ variables of `serve` to see how many events wait')
  await print(
    world,
    ...shown.map(
      ({ waiting, ...hold }) =>
        `${formatHold(hold)}${waiting === null ? '' : ` (${counted(waiting, 'event waits', 'events wait')})`}`,
    ),
  )
}

/** The waiting events by topic; null without MQ_ variables, or if the broker does not answer. */
async function readWaiting(world: World, pool: DatabasePool): Promise<ReadonlyMap<string, number> | null> {
  if (!world.env.MQ_BROKERS) return null
  const { broker } = loadConfig(world.env)
  const { groupId, topics } = broker
  const read = (brokers: Brokers) => listPositions(pool, brokers, groupId, topics)
  const positions = await withBrokers(broker, `${groupId}-hold`, read).catch(() => [])
  if (positions.length === 0) return null
  const waiting = new Map<string, number>()
  for (const { topic, lag } of positions) waiting.set(topic, (waiting.get(topic) ?? 0) + Number(lag))
  return waiting
}

/** Example: "request 12: all topics, held by alice since … because …". */
function formatHold(hold: Hold): string {
  return `request ${hold.id}: ${printable(`${hold.topics?.join(', ') ?? 'all topics'}, ${describeHold(hold)}`)}`
}

export const resumeCommand = (world: World) =>
  withWriteOptions(
    newCommand('resume', {
      notes: `Running replicas go on within 5 seconds, with the events that wait, by the rules and texts that they have then. If members must
not be told of these events: deploy a rule that skips them before you resume.`,
      exitCodes: '0 no such hold is in force, 1 declined, or one still is',
      example: [
        'resume --because "the text is corrected"',
        'resume --topic claims --because "the text is corrected"',
      ],
    }),
  )
    .description('end all holds, or those of some topics: the service sends what waited')
    .option('--topic <name...>', 'only the holds of these topics and no other', addTopic)
    .option('--because <text>', 'why; recorded')
    .option('--json', 'print the holds that are ended as JSON')
    .action((options: HoldOptions) => withDatabase(world, (pool) => resume(world, pool, options)))

async function resume(world: World, pool: DatabasePool, options: HoldOptions): Promise<void> {
  const { topic: named, because = '', by, json } = options
  const present = await readHolds(pool)
  const unheld = (named ?? []).filter((topic) => findHold(present, topic) === null)
  if (unheld.length > 0)
    throw new UsageError(
      `no hold covers ${unheld.join(', ')}: ${present.map(formatHold).join('; ') || 'none is in force'}`,
    )
  const isNamed = ({ topics }: Hold) =>
    named === undefined || (topics?.every((topic) => named.includes(topic)) ?? false)
  const holds = present.filter(isNamed)
  for (const hold of holds) note(world, formatHold(hold))
  if (holds.length > 0 && !(await confirm(world, 'Resume?', options)))
    return note(world, 'Not confirmed: the hold stays in force')
  const ids = holds.map(({ id }) => id)
  const resumed = new Set(await resumeHolds(pool, ids, by, because))
  if (json) await print(world, JSON.stringify(holds.filter(({ id }) => resumed.has(id))))
  const still = await readHolds(pool)
  const left = named === undefined ? still[0] : named.map((topic) => findHold(still, topic)).find(Boolean)
  if (!left)
    return note(world, named === undefined ? 'no hold is in force' : `${named.join(', ')} is not held`)
  world.exitCode = 1
  note(world, `${formatHold(left)}: still in force, since ${whyLeft(left, isNamed(left), ids)}`)
}

function whyLeft({ id }: Hold, isNamed: boolean, ended: readonly string[]): string {
  if (!isNamed) return 'it also covers other topics: `resume` without --topic ends all holds'
  if (ended.includes(id))
    return `another version of the service stored it: \`requests cancel ${id}\` ends it, \`requests show ${id}\` shows it`
  return 'it is newer: run the command again'
}
