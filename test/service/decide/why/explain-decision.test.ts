import t from 'tap'
import type { RecordedFacts } from '../../../../src/service/decide/decision/facts.ts'
import type { RecordedDecision } from '../../../../src/service/decide/decision/recorded-decision.ts'
import { readRules } from '../../../../src/service/decide/rules/archived-rules.ts'
import { describeEntry, explain } from '../../../../src/service/decide/why/explain-decision.ts'
import { explainListed } from '../../../../src/service/decide/why/why-told-or-not.ts'
import { type RecordedLogEntry, recordedLogEntry } from '../../../../src/service/model/log/log-entry.ts'
import { above, rule } from '../../../authoring/build.ts'
import { DEFAULT_TABLE, findRow } from '../../../authoring/default-table.ts'
import { someFacts } from '../../build.ts'
import { ENTRY } from '../../http/fixture.ts'

const TABLE_OF_TODAY = above('opted-out', [
  rule({ rule: 'muted', party: 'found', because: 'We are silent today.' }),
])
const SOURCES = new Map([
  ['old', DEFAULT_TABLE],
  ['today', TABLE_OF_TODAY],
  ['odd', 'not a table'],
])
const rulesOf = (decisions: readonly RecordedDecision[]) =>
  readRules(decisions, async (revision) => SOURCES.get(revision) ?? null, [])

/** As they are on record, whichever facts come later. */
const FACTS: RecordedFacts = {
  eventType: 'claim.paid',
  party: 'found',
  optedOut: false,
  preferredChannel: 'SMS',
  emailOnFile: true,
  phoneOnFile: true,
}

const {
  decisions: [DECISION],
  ...REST
} = recordedLogEntry.parse({
  ...ENTRY,
  nextRetry: null,
  decisions: ENTRY.decisions.map((decision) => ({ ...decision, envelopeMap: null, preferenceChange: null })),
})
const SMS = { ruleId: 'sms', channel: 'SMS', ruleTableRevision: 'old', facts: FACTS } as const

function anEntryWith(...decisions: Partial<RecordedDecision>[]): RecordedLogEntry {
  const all = decisions.map((given) => ({ ...(DECISION as RecordedDecision), ...SMS, ...given }))
  return { ...REST, decisions: all }
}
async function explained(...decisions: Partial<RecordedDecision>[]) {
  const entry = anEntryWith(...decisions)
  return explain(entry, await rulesOf(entry.decisions))
}

t.test('a trace id is a link if the URL of traces is configured', async (t) => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const entry = anEntryWith({ traceId }, { traceId: null })
  const rules = await rulesOf(entry.decisions)
  const linked = explain(entry, rules, 'https://traces.example/{traceId}?of={traceId}')
  const url = `https://traces.example/${traceId}?of=${traceId}`
  t.match(linked.decisions, [{ traceUrl: url }, { traceUrl: null }])
  t.match(describeEntry(linked).join('\n'), `  trace ${url}`)
  const plain = explain(entry, rules)
  t.match(plain.decisions, [{ traceUrl: null }, { traceUrl: null }])
  t.match(describeEntry(plain).join('\n'), `  trace ${traceId}`)
})

t.test('a decision is explained, with the reason why each rule above did not match', async (t) => {
  const { decisions } = await explained({})
  t.match(decisions, [
    {
      why: /^SEND by text message by rule "sms", for claim.paid, party found, not opted out, prefers text message, email on file, phone on file.*: The member prefers text messages, and we have a phone number\.$/,
      because: 'The member prefers text messages, and we have a phone number.',
    },
  ])
  t.strictSame(decisions[0]?.rulesAbove.slice(0, 5), [
    { ruleId: 'unresolved', mismatch: '"party" must be unresolved, but is found' },
    { ruleId: 'party-not-found', mismatch: '"party" must be not found, but is found' },
    { ruleId: 'no-party', mismatch: '"party" must be missing, but is found' },
    { ruleId: 'opted-out', mismatch: '"opted out" must be yes, but is no' },
    { ruleId: 'no-email', mismatch: '"preferred channel" must be email, but is text message' },
  ])
})

t.test('each decision is explained by the table of its own time', async (t) => {
  const muted = { outcome: 'SKIP', ruleId: 'muted', reason: 'muted', ruleTableRevision: 'today' } as const
  const { decisions } = await explained({}, muted)
  t.match(decisions[0]?.because, /^The member prefers/)
  t.equal(decisions[0]?.rulesAbove.length, findRow('sms') - 2)
  t.equal(decisions[1]?.because, 'We are silent today.')
  t.equal(decisions[1]?.rulesAbove.length, 3)
})

const optedOutAt = '2026-01-03T00:00:00.000001Z'
const changedAt = '2026-01-05T00:00:00.000001Z'
const change = (changedBy: string | null, optedOutAt: string | null) => ({
  preferenceChange: { changedAt, changedBy, optedOutAt },
})
const OPTED_OUT = {
  outcome: 'SKIP',
  ruleId: 'opted-out',
  reason: 'event type opted out',
  facts: { ...FACTS, optedOut: true },
} as const
const WHY: readonly [Partial<RecordedDecision>, string | RegExp][] = [
  [
    { ...OPTED_OUT, ...change('ada', optedOutAt) },
    `SKIP (event type opted out) by rule "opted-out", for claim.paid, party found, opted out on ${optedOutAt}, prefers text message`,
  ],
  [change('ada', null), `phone on file, preferences of ${changedAt} by ada: The member`],
  [change(null, null), `phone on file, preferences of ${changedAt}: The member`],
  [
    { sendError: 'full' },
    'SEND by text message, not confirmed by the sender (full), by rule "sms", for claim.paid',
  ],
  [
    { attempt: 0, sendError: 'deferred' },
    'SEND by text message, not tried (deferred), by rule "sms", for claim.paid',
  ],
  [{ ruleTableRevision: 'unknown' }, / \(the rule table then in force is not in the archive\)\.$/],
  [{ ruleTableRevision: 'odd' }, / \(this version cannot read the rule table then in force\)\.$/],
  [{ ruleId: 'gone' }, / \(the rule table then in force has no such rule\)\.$/],
]

t.test('an explanation has preferences, the answer of the sender, and what is missing', async (t) => {
  for (const [decision, words] of WHY) t.match((await explained(decision)).decisions[0]?.why, words)
  const [unknown] = (await explained({ ruleId: 'gone' })).decisions
  t.match(unknown, { because: null, rulesAbove: [] })
})

t.test('an event is read by the envelope map of its time', async (t) => {
  const envelopeMap = '{"partyLocator": "/p", "locator": "/a~1b/0", "reason": "/x~0y"}'
  const entry = await explained({ envelopeMap, envelopeMapRevision: 'abc' })
  t.strictSame(entry.decisions[0]?.readFrom, { partyLocator: '/p', locator: '/a~1b/0', reason: '/x~0y' })
  const lines = describeEntry(entry)
  t.ok(lines.includes('  envelope map abc'))
  t.ok(lines.includes('  read from the event: party locator at /p, locator at /a~1b/0, reason at /x~0y'))
  const topics = { [entry.decisions[0]?.topic ?? '']: { reason: ['header:why', '/why'] } }
  const byTopic = JSON.stringify({ ...JSON.parse(envelopeMap), topics })
  t.match((await explained({ envelopeMap: byTopic })).decisions[0]?.readFrom, {
    reason: 'header:why or /why',
  })
  for (const unreadable of [null, '{}', 'x'])
    t.equal((await explained({ envelopeMap: unreadable })).decisions[0]?.readFrom, null)
})

const FAILED = {
  attempt: 0,
  outcome: 'FAIL',
  ruleId: 'unresolved',
  reason: 'contact could not be resolved: HTTP 500',
  facts: someFacts({ party: 'unresolved', preferredChannel: 'SMS' }),
  decidedAt: '2026-01-31T11:00:00.000000Z',
  receipt: null,
} as const

t.test('a given-up entry says so, and keeps the reason of its rule', async (t) => {
  const entry = {
    ...anEntryWith({}, FAILED),
    status: 'FAILED',
    failureReason: 'HTTP 500',
    attemptCount: 3,
  } as const
  const waiting = explain(entry, await rulesOf(entry.decisions))
  t.match(waiting.decisions[1]?.why, /at that time\.$/)
  t.match(describeEntry(waiting)[0], /is FAILED \(HTTP 500\)/)
  const givenUp = explain({ ...entry, givenUp: true }, await rulesOf(entry.decisions))
  t.match(givenUp.decisions[1]?.why, /at that time\. It was given up after the first attempt and 1 retry\.$/)
  t.match(givenUp.decisions[0]?.why, /: The member prefers/, 'the last decision alone')
  t.match(describeEntry(givenUp)[0], /is FAILED, given up after the first attempt and 1 retry \(HTTP 500\)/)
})

t.test('a requested retry is shown with its author and reason', async (t) => {
  const retried = await explained(FAILED, { retry: { by: 'alice', because: 'an outage\u001b[2J' } })
  t.ok(describeEntry(retried).includes('  retried by alice: an outage\uFFFD[2J'))
})

t.test('the text for a terminal describes an entry attempt by attempt', async (t) => {
  const lines = describeEntry(await explained(FAILED, {}))
  t.equal(lines[0], `${ENTRY.locator} is SENT: claim.rejected for PTY-1, event event-1`)
  t.match(
    lines[5],
    /^2026-01-31T11:00:00.000000Z, first attempt: FAIL \(contact could not be resolved: HTTP 500\) by rule/,
  )
  t.ok(lines.includes('  not by rule "opted-out": "opted out" must be yes, but is no'))
  t.ok(lines.includes('  rule table old'))
  t.ok(lines.includes('  receipt: recorded:EMAIL:event-1/1'))
  t.equal(lines.at(-2), '  from claims, partition 2, offset 9007199254740993')
  t.strictSame(describeEntry({ ...ENTRY, decisions: [] }).at(-1), 'No recorded decision explains this entry.')
  t.match(
    describeEntry({ ...ENTRY, eventType: 'a\u001b[2J\nb' })[0],
    ': a\uFFFD[2J\uFFFDb for PTY-1',
    'what an event carries cannot steer the terminal',
  )
})

const T = (minute: number) => `2026-01-31T12:${String(minute).padStart(2, '0')}:00.000000Z`

async function storyOf(entry: Partial<RecordedLogEntry>, decisions: Partial<RecordedDecision>[]) {
  const all = { ...anEntryWith(...decisions), createdAt: T(0), ...entry }
  return explain(all, await rulesOf(all.decisions)).story
}
const unresolved = (minute: number) => ({ ...FAILED, attempt: minute, decidedAt: T(minute) })

t.test('a message that a placeholder recorded is not called sent', async (t) => {
  const sent = { decidedAt: T(0), receipt: 'sms-id-1' }
  const what = async (entry: Partial<RecordedLogEntry>) =>
    (await storyOf({ sentAt: T(0), ...entry }, [sent])).what
  const [on, text] = [`On ${T(0)}`, 'about CLM-1 for member PTY-1']
  const recorded = `${on}, the text message ${text} was recorded only: no transport is connected, so nothing was delivered.`
  t.equal(await what({ channel: 'SMS', recordedOnly: true }), recorded)
  for (const receipt of ['sms-id-1', 'recorded: 250 OK'])
    t.equal(
      await what({ channel: 'SMS', receipt, recordedOnly: false }),
      `${on}, the text message ${text} was sent.`,
    )
  t.match(
    await what({ channel: 'SMS', receipt: 'erased', recordedOnly: null }),
    'was sent or only recorded: no receipt is stored.',
  )
  t.equal(
    await what({ channel: 'IN_APP', receipt: null }),
    `${on}, the app message “Your claim” ${text} was stored for the app.`,
  )
  t.match(await storyOf({}, [{ ...sent, recordedOnly: true }]), {
    because: 'The member prefers text messages, and we have a phone number.',
    next: 'Nothing. It is not delivered later, even if a transport is connected.',
    timeline: [{}, { words: 'Text message recorded, not delivered.' }],
  })
})

t.test('the reason for not telling a member appears once, an opt-out with its date', async (t) => {
  const skipped = { ...OPTED_OUT, ...change('ada', optedOutAt), decidedAt: T(0) }
  const entry = {
    status: 'SKIPPED',
    failureReason: 'event type opted out',
    subject: null,
    receipt: null,
  } as const
  t.strictSame(await storyOf(entry, [skipped]), {
    what: `Member PTY-1 got no message about CLM-1 (claim.rejected). The event was processed on ${T(0)}.`,
    because: 'The member asked not to be told of events of this type.',
    next: `Nothing. The member opted out on ${optedOutAt}.`,
    timeline: [
      { at: optedOutAt, until: null, words: 'The member opted out of claim.rejected.' },
      { at: changedAt, until: null, words: 'Preferences were set by ada: text message.' },
      { at: T(0), until: null, words: 'The event claim.rejected was processed.' },
      { at: T(0), until: null, words: 'Not told.' },
    ],
  })
  const noParty = { ...skipped, facts: { ...skipped.facts, optedOut: false }, preferenceChange: null }
  const nobody = await storyOf({ ...entry, partyLocator: null }, [noParty])
  t.match(nobody, {
    what: /^Nobody got a message about/,
    next: /^It is sent only if /,
  })
  const pruned = { ...skipped, ruleId: '(pruned)', preferenceChange: null }
  t.match(await storyOf(entry, [pruned]), { next: 'Nothing. It can no longer be sent.' })
  const erased = { ...entry, failureReason: 'erased before it was sent' }
  t.match(await storyOf(erased, [{ ...FAILED, erasedAt: T(3) }]), {
    because: 'Erased before it was sent.',
    next: 'Nothing. It can no longer be sent.',
    timeline: [{}, {}, { at: T(3), words: 'The text was erased.' }],
  })
})

t.test('the timeline tells of an opt-out that was withdrawn', async (t) => {
  const back = { changedAt: T(2), changedBy: 'ada', optedOutAt: null, withdrawnAt: T(1) }
  const { timeline } = await storyOf({ status: 'SENT' }, [{ preferenceChange: back, decidedAt: T(3) }])
  t.ok(
    timeline.some(({ at, words }) => at === T(1) && words === 'The opt-out of claim.rejected was withdrawn.'),
  )
})

t.test('an entry that waits for a retry says when; equal retries share one line', async (t) => {
  const entry = {
    status: 'FAILED',
    failureReason: FAILED.reason,
    channel: 'SMS',
    receipt: null,
    nextRetry: { at: T(5), isOverdue: false, isHeld: false },
  } as const
  const retries = [1, 2, 3, 4].map(unresolved)
  const story = await storyOf(entry, [unresolved(0), ...retries])
  t.strictSame(story.timeline, [
    { at: T(0), until: null, words: 'The event claim.rejected was processed.' },
    { at: T(0), until: null, words: 'Not sent.' },
    { at: T(1), until: T(4), words: 'Tried again 4 times: not sent.' },
  ])
  t.match(story, {
    what: `Member PTY-1 has had no message yet about CLM-1 (claim.rejected): the text message was not sent. The event was processed on ${T(0)}.`,
    because: 'We could not find out how to reach the member at that time.',
    next: `It will be tried again at about ${T(5)}.`,
  })
  const overdue = { ...entry, nextRetry: { at: T(5), isOverdue: true, isHeld: false } }
  t.match((await storyOf(overdue, retries)).next, /^It will be tried again, but it is late: /)
  t.notMatch((await storyOf(overdue, retries)).next, T(5), 'no time that has passed')
  const held = { ...entry, nextRetry: { ...entry.nextRetry, isHeld: true } }
  t.equal(
    (await storyOf(held, retries)).next,
    'It will be tried again once messages are resumed, unless it is too old by then.',
  )
  t.match(await storyOf({ ...entry, givenUp: true, attemptCount: 3 }, retries), {
    what: /^Member PTY-1 got no message about/,
    because: 'We could not find out how to reach the member at that time.',
    next: /only on request: it was given up after the first attempt and 3 retries\.$/,
  })
  const retry = { by: 'alice', because: 'an outage' }
  const refused = { sendError: 'mailbox on fire', decidedAt: T(1) }
  const mixed = await storyOf({ ...entry, failureReason: 'mailbox on fire' }, [
    unresolved(0),
    { ...refused, retry },
    { ...refused, decidedAt: T(2) },
  ])
  t.equal(
    mixed.because,
    'The message could not be handed over for delivery.',
    'the sentence of a rule that said to send explains no failure',
  )
  t.strictSame(
    mixed.timeline.slice(1).map(({ words }) => words),
    [
      'Not sent (the contact of the member could not be looked up).',
      'Tried again for alice (an outage): not sent.',
      'Tried again: not sent.',
    ],
  )
})

t.test('an entry that another version must send says so, whether it waits or was given up', async (t) => {
  const waits = { status: 'FAILED', failureReason: 'x', receipt: null } as const
  const nextRetry = { at: T(5), isOverdue: true, isHeld: false }
  const unknown = { ...FAILED, attempt: 0, decidedAt: T(0), ruleId: '(unknown channel)', channel: 'PIGEON' }
  const push = { ...waits, channel: 'PIGEON' }
  const version =
    'This version of the service does not know the channel PIGEON. A version that does can send the message while it is retried.'
  const next = async (...args: Parameters<typeof storyOf>) => (await storyOf(...args)).next
  t.equal(
    await next({ ...push, nextRetry }, [unknown]),
    `It will be tried again until it is given up. ${version}`,
  )
  t.equal(
    await next({ ...push, nextRetry: { at: T(5), isOverdue: false, isHeld: false } }, [unknown]),
    `It will be tried again at about ${T(5)}. ${version}`,
  )
  const givenUp = await next({ ...push, givenUp: true, nextRetry: null }, [unknown])
  t.match(givenUp, 'it was given up without a retry.')
  t.match(givenUp, version)
  t.match(
    await next({ ...waits, channel: 'SMS', nextRetry }, [{ ...unknown, channel: 'SMS' }]),
    'The rule table does not name the channel SMS.',
  )
  const refused = { decidedAt: T(0), ruleId: 'push', channel: 'PIGEON', sendError: 'full' }
  t.match(await next({ ...push, nextRetry }, [refused]), version, 'its retries leave no decision')
  const unreadable = { ...unknown, ruleId: '(unreadable opt-outs)', channel: 'SMS' }
  t.match(
    await next({ ...waits, channel: 'SMS', nextRetry }, [unreadable]),
    "does not know the form of the member's opt-outs.",
  )
})

t.test('a listed entry has the sentence of the rule that told nobody, and of no other', async (t) => {
  const rules = await readRules([{ ruleTableRevision: 'old' }], async () => DEFAULT_TABLE, [])
  const { decisions: _, nextRetry: __, ...row } = anEntryWith()
  const because = (
    status: 'SENT' | 'FAILED' | 'SKIPPED',
    outcome: string | null,
    ruleId: string,
    revision = 'old',
  ) => explainListed([{ ...row, status, outcome, ruleId, ruleTableRevision: revision }], rules)[0]?.because
  t.match(because('SKIPPED', 'SKIP', 'opted-out'), /^The member asked not to be told/)
  t.equal(because('SENT', 'SEND', 'sms'), null, 'the message says enough')
  t.equal(because('FAILED', 'SEND', 'sms'), null, 'the sender failed, not the rule')
  t.equal(because('SKIPPED', 'SKIP', 'opted-out', 'lost'), null)
  t.equal(because('SKIPPED', 'SKIP', 'of-no-row'), null)
  t.equal(because('SKIPPED', null, 'opted-out'), null)
})
