import t from 'tap'
import { type Checked, check, type InvariantName, type Stage } from './check.ts'
import type { KafkaRecord } from './records.ts'
import type { DecisionRow, LogRow, Snapshot } from './snapshot.ts'

// A small world in which all is right, written down by hand, and every way to break it.

const MINUTE_MS = 60_000
const BODY =
  'Hello,\n\nGood news: your claim (reference CLM-1) has been paid. It may take a few days until the money reaches you.'
const SUBJECT = 'Your claim has been paid'

const eventOf = (eventId: string, partyLocator: string | null, eventType = 'claim.paid') =>
  JSON.stringify({ eventId, eventType, partyLocator, payload: { locator: 'CLM-1' } })
const VALUES = [
  eventOf('by-email', 'party-plain-1'),
  eventOf('by-sms', 'party-sms-1'),
  'no event',
  eventOf('in-app', 'party-app-1'),
  eventOf('by-email', 'party-plain-1'),
  eventOf('nobody', null),
  eventOf('late', 'party-plain-2'),
  eventOf('never', 'error-1'),
]

interface Right extends Checked {
  readonly records: KafkaRecord[]
  readonly snapshot: { -readonly [Key in keyof Snapshot]: Mutable<Snapshot[Key]> }
  readonly evidence: Mutable<Checked['evidence']>
}
type Mutable<Value> = Value extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : Value extends ReadonlyMap<infer Key, infer Item>
    ? Map<Key, Mutable<Item>>
    : Value extends Buffer | null
      ? Value
      : Value extends object
        ? { -readonly [Key in keyof Value]: Mutable<Value[Key]> }
        : Value

function row(eventId: string, party: string | null, channel: string, more: Partial<LogRow> = {}): LogRow {
  return {
    locator: `NTF-${eventId}`,
    event_id: eventId,
    party_locator: party,
    event_type: 'claim.paid',
    channel,
    status: 'SENT',
    subject: SUBJECT,
    body: BODY,
    failure_reason: null,
    attempt_count: 1,
    ...more,
  }
}

function decision(of: LogRow, offset: number, rule: string, more: Partial<DecisionRow> = {}): DecisionRow {
  const { locator, event_id, party_locator, event_type, channel } = of
  return {
    ...{ locator, event_id, party_locator, event_type, channel },
    attempt: 1,
    outcome: 'SEND',
    rule_id: rule,
    reason: null,
    facts: {
      eventType: event_type,
      party: 'found',
      optedOut: false,
      preferredChannel: channel,
      emailOnFile: true,
      phoneOnFile: true,
    },
    receipt: channel === 'IN_APP' ? null : `${channel}:${event_id}/1`,
    send_error: null,
    decided_ms: MINUTE_MS,
    topic: 'claims',
    partition: 0,
    offset,
    ...more,
  }
}

function failed(of: LogRow, offset: number, error: string): DecisionRow {
  return decision(of, offset, 'unresolved', {
    attempt: 0,
    outcome: 'FAIL',
    reason: `contact could not be resolved: ${error}`,
    receipt: null,
    facts: {
      eventType: 'claim.paid',
      party: 'unresolved',
      optedOut: false,
      preferredChannel: 'EMAIL',
      emailOnFile: null,
      phoneOnFile: null,
    },
  })
}

function right(): Right {
  const skipped = { status: 'SKIPPED', subject: null, body: null, attempt_count: 0 }
  const byEmail = row('by-email', 'party-plain-1', 'EMAIL')
  const bySms = row('by-sms', 'party-sms-1', 'SMS')
  const inApp = row('in-app', 'party-app-1', 'IN_APP')
  const nobody = row('nobody', null, 'EMAIL', { ...skipped, failure_reason: 'no party locator' })
  const late = row('late', 'party-plain-2', 'EMAIL')
  const never = row('never', 'error-1', 'EMAIL', {
    status: 'FAILED',
    attempt_count: 0,
    failure_reason: 'contact could not be resolved: policy administration answered 500',
  })
  const answer = (said: number) => [{ atMs: MINUTE_MS - 1, said }]
  return {
    records: VALUES.map((value, offset) => ({
      ...{ topic: 'claims', partition: 0, offset, key: null },
      value: Buffer.from(value),
    })),
    snapshot: {
      log: [byEmail, bySms, inApp, nobody, late, never],
      decisions: [
        decision(byEmail, 0, 'email'),
        decision(bySms, 1, 'sms'),
        decision(inApp, 3, 'in-app'),
        decision(nobody, 5, 'no-party', {
          attempt: 0,
          outcome: 'SKIP',
          reason: 'no party locator',
          receipt: null,
          facts: { ...failed(never, 7, '').facts, party: 'missing' },
        }),
        failed(late, 6, 'policy administration answered 503'),
        decision(late, 6, 'email'),
        failed(never, 7, 'policy administration answered 500'),
      ],
      rejected: [
        {
          topic: 'claims',
          partition: 0,
          offset: 2,
          key: null,
          value: Buffer.from('no event'),
          code: 'not-json',
        },
      ],
      checkpoints: [{ topic: 'claims', partition: 0, offset: 7 }],
      setBack: [],
      beyondCount: 0,
    },
    evidence: {
      answers: new Map([
        ['party-plain-1', answer(200)],
        ['party-sms-1', answer(200)],
        ['party-app-1', answer(200)],
        ['party-plain-2', [...answer(503), ...answer(200)]],
        ['error-1', answer(500)],
      ]),
      sends: ['EMAIL:by-email', 'SMS:by-sms', 'EMAIL:late'].map((send) => {
        const [channel = '', eventId] = send.split(':')
        return { atMs: MINUTE_MS, channel, key: `${eventId}/1` }
      }),
      faults: [],
    },
  }
}

/** The row of an event, or one of its decisions. */
function of<Row extends { event_id: string }>(rows: readonly Row[], eventId: string): Row {
  const found = rows.findLast(({ event_id }) => event_id === eventId)
  if (found === undefined) throw new Error(`no row of ${eventId}`)
  return found
}
function without<Row extends { event_id: string }>(rows: readonly Row[], eventId: string): Row[] {
  return rows.filter(({ event_id }) => event_id !== eventId)
}

const BROKEN: Record<InvariantName, Record<string, (world: Right) => void>> = {
  'one row per event': {
    'a second row': ({ snapshot }) =>
      snapshot.log.push({ ...of(snapshot.log, 'by-email'), locator: 'NTF-2' }),
    'no row behind the checkpoint': ({ snapshot }) => {
      snapshot.log = without(snapshot.log, 'in-app')
    },
    'a row of no message': ({ snapshot }) => snapshot.log.push(row('invented', null, 'EMAIL')),
  },
  'each row is one that the model allows': {
    'another text': ({ snapshot }) => {
      of(snapshot.log, 'by-email').body = 'Hello'
    },
    'a text on a skipped row': ({ snapshot }) => {
      of(snapshot.log, 'nobody').body = BODY
    },
    'another channel': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').channel = 'EMAIL'
    },
    'another rule': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').rule_id = 'email'
    },
    'other facts': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').facts = {}
    },
    'another reason': ({ snapshot }) => {
      of(snapshot.decisions, 'nobody').reason = 'no reason'
    },
    'another party': ({ snapshot }) => {
      of(snapshot.log, 'by-sms').party_locator = 'party-sms-2'
    },
    'the place of another event': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').offset = 3
    },
    'the place of no event': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').offset = 2
    },
    'a send to a party that nobody was told of': ({ evidence }) => evidence.answers.delete('party-sms-1'),
    'a send before the answer came': ({ evidence }) =>
      evidence.answers.set('party-sms-1', [{ atMs: MINUTE_MS + 5, said: 200 }]),
    'a failure although nothing failed': ({ evidence }) => evidence.answers.set('error-1', []),
    'a failure by an open circuit without an outage': ({ snapshot }) => {
      of(snapshot.decisions, 'never').reason =
        'contact could not be resolved: policy administration is down (circuit open: policy administration answered 503)'
    },
    'a failure by silence without a silence': ({ snapshot }) => {
      of(snapshot.decisions, 'never').reason =
        'contact could not be resolved: policy administration did not answer within 3 s'
    },
    'a failure for a reason nobody knows': ({ snapshot }) => {
      of(snapshot.decisions, 'never').reason = 'contact could not be resolved: bad luck'
    },
  },
  'decisions and rows agree': {
    'a row without a decision': ({ snapshot }) => {
      snapshot.decisions = without(snapshot.decisions, 'in-app')
    },
    'a decision without a row': ({ snapshot }) => {
      snapshot.log = without(snapshot.log, 'in-app')
    },
    'another status': ({ snapshot }) => {
      of(snapshot.log, 'in-app').status = 'FAILED'
    },
    'another count of attempts': ({ snapshot }) => {
      of(snapshot.log, 'late').attempt_count = 2
    },
    'a decision that is missing between two': ({ snapshot }) => {
      of(snapshot.decisions, 'late').attempt = 2
      of(snapshot.log, 'late').attempt_count = 2
    },
    'a decision after the row was sent': ({ snapshot }) => {
      snapshot.decisions.push({ ...of(snapshot.decisions, 'in-app'), attempt: 2 })
      of(snapshot.log, 'in-app').attempt_count = 2
    },
  },
  'one receipt per row sent by EMAIL or SMS': {
    'no receipt': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').receipt = null
    },
    'the receipt of another': ({ snapshot }) => {
      of(snapshot.decisions, 'by-sms').receipt = 'EMAIL:by-email/1'
    },
    'a receipt for a message that stays in the app': ({ snapshot }) => {
      of(snapshot.decisions, 'in-app').receipt = 'IN_APP:in-app/1'
    },
  },
  'each rejected message once, with its place': {
    'a message that is nowhere': ({ snapshot }) => {
      snapshot.rejected = []
    },
    'a message that is there twice': ({ snapshot }) => snapshot.rejected.push(...snapshot.rejected),
    'an event among them': ({ snapshot }) => {
      const [rejected] = snapshot.rejected
      if (rejected) snapshot.rejected.push({ ...rejected, offset: 3, code: 'refused-by-database' })
    },
    'another code': ({ snapshot }) => {
      for (const rejected of snapshot.rejected) rejected.code = 'empty'
    },
    'another value': ({ snapshot }) => {
      for (const rejected of snapshot.rejected) rejected.value = Buffer.from('no Event')
    },
    'a refused row that is nowhere': ({ records, snapshot }) => {
      const value = Buffer.from(eventOf('refused', null, 'refused.by-database'))
      records.push({ topic: 'claims', partition: 0, offset: 8, key: null, value })
      for (const checkpoint of snapshot.checkpoints) checkpoint.offset = 8
    },
  },
  'no checkpoint moves back': {
    'one that was set back': ({ snapshot }) =>
      snapshot.setBack.push({ topic: 'claims', partition: 0, was: 7, became: 3 }),
    'one that was deleted': ({ snapshot }) =>
      snapshot.setBack.push({ topic: 'claims', partition: 0, was: 7, became: null }),
  },
  'nothing lies beyond its checkpoint': {
    'a row': ({ snapshot }) => {
      for (const checkpoint of snapshot.checkpoints) checkpoint.offset = 6
    },
    'a row, for a moment': ({ snapshot }) => {
      snapshot.beyondCount = 1
    },
    'a rejected message': ({ snapshot }) => {
      for (const rejected of snapshot.rejected) rejected.partition = 1
    },
    'the checkpoint itself, past the end': ({ snapshot }) => {
      for (const checkpoint of snapshot.checkpoints) checkpoint.offset = 8
    },
  },
  'all is caught up': {
    'a message that is left': ({ records }) =>
      records.push({
        topic: 'claims',
        partition: 0,
        offset: 8,
        key: null,
        value: Buffer.from(VALUES[0] ?? ''),
      }),
    'a partition without a checkpoint': ({ records }) =>
      records.push({
        topic: 'billing',
        partition: 0,
        offset: 0,
        key: null,
        value: Buffer.from(VALUES[0] ?? ''),
      }),
  },
  'each row is sent, and sent once': {
    'a message that no sender had': ({ evidence }) => evidence.sends.pop(),
    'a message that its sender had twice': ({ evidence }) =>
      evidence.sends.push(...evidence.sends.slice(0, 1)),
    'a message of no row': ({ evidence }) =>
      evidence.sends.push({ atMs: MINUTE_MS, channel: 'EMAIL', key: 'invented/1' }),
    'a message by another channel': ({ evidence }) => {
      for (const send of evidence.sends) send.channel = 'SMS'
    },
  },
  'retries settle': {
    'a row that could be sent and is not': ({ snapshot }) => {
      const late = of(snapshot.log, 'late')
      snapshot.decisions = snapshot.decisions.filter(
        (made) => made.event_id !== 'late' || made.outcome === 'FAIL',
      )
      late.status = 'FAILED'
      late.failure_reason = of(snapshot.decisions, 'late').reason
      late.attempt_count = 0
    },
  },
}

const violated = (world: Checked, stage: Stage) =>
  new Set(check(world, stage).map(({ invariant }) => invariant))

t.test('a world in which all is right violates nothing', async (t) => {
  t.same(check(right(), 'settled'), [])
})

for (const [invariant, ways] of Object.entries(BROKEN)) {
  for (const [title, breakIt] of Object.entries(ways)) {
    t.test(`${invariant}: ${title} is reported by this name`, async (t) => {
      const world = right()
      breakIt(world)
      t.ok(violated(world, 'settled').has(invariant as InvariantName), [...violated(world, 'settled')].join())
    })
  }
}

t.test('what was broken off by a fault may be sent twice', async (t) => {
  const world = right()
  world.evidence.sends.push(...world.evidence.sends.slice(0, 1))
  world.evidence.faults.push({ kind: 'kill', fromMs: MINUTE_MS, toMs: MINUTE_MS })
  t.same(check(world, 'settled'), [])
})

t.test('during an outage a look-up may fail by silence, and by an open circuit', async (t) => {
  for (const error of [
    'did not answer within 3 s',
    'is down (circuit open: policy administration answered 200 with a body that is not a JSON object)',
  ]) {
    const world = right()
    const reason = `contact could not be resolved: policy administration ${error}`
    of(world.snapshot.decisions, 'never').reason = reason
    of(world.snapshot.log, 'never').failure_reason = reason
    world.evidence.faults.push({ kind: 'party look-ups hang', fromMs: MINUTE_MS - 1, toMs: MINUTE_MS })
    t.same(check(world, 'settled'), [])
  }
})

t.test('while messages are under way, what is not yet consumed is not missed', async (t) => {
  const world = right()
  world.records.push({ topic: 'billing', partition: 1, offset: 0, key: null, value: Buffer.from('x') })
  world.evidence.sends.push({ atMs: MINUTE_MS, channel: 'SMS', key: 'under way/1' })
  t.same(check(world, 'running'), [])
  t.ok(violated(world, 'caught up').has('all is caught up'))
})
