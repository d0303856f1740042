import t from 'tap'
import { type AuditNeeds, auditPartition } from '../../../src/operations/audit/account-for.ts'
import {
  type AuditedPartition,
  type AuditFinding,
  isSound,
  type LogPiece,
  noCounts,
} from '../../../src/operations/audit/audit-finding.ts'
import type { LoggedRow } from '../../../src/service/decide/event/conflict.ts'
import type { Message } from '../../../src/service/decide/event/message.ts'
import { aLoggedRow, aParsedEvent } from '../../service/decide/attempt/build.ts'

const PARTITION: AuditedPartition = {
  topic: 'claims',
  partition: 0,
  from: 0n,
  earliest: 0n,
  end: 3n,
  checkpoint: 2n,
  untilMs: null,
}

/** A message of the event `event-<offset>`, or of another one. */
function messageOf(offset: number, eventId = `event-${offset}`): Message {
  return { offset: BigInt(offset), timestampMs: 1n, key: null, value: Buffer.from(eventId), headers: {} }
}

const committed = (...messages: Message[]): LogPiece => ({ kind: 'messages', fate: 'committed', messages })

/** The row of an event whose message is at that offset. */
function rowOf(offset: number): LoggedRow {
  const origin = { topic: 'claims', partition: 0, offset: BigInt(offset) }
  return aLoggedRow(`event-${offset}`, { locator: `NTF-${offset}`, origin, envelopeMapRevision: null })
}

/** Audits what is read with these rows; all else holds nothing. */
async function audit(
  pieces: readonly LogPiece[],
  rows: readonly LoggedRow[],
  partition: Partial<AuditedPartition> = {},
  needs: Partial<AuditNeeds> = {},
) {
  const findings: AuditFinding[] = []
  const counts = noCounts()
  await auditPartition(
    {
      read: async function* () {
        yield* pieces
      },
      parse: async (_, { value }) => ({ kind: 'event', event: aParsedEvent(String(value)) }),
      earlierMaps: [],
      findRows: async (eventIds) =>
        new Map(rows.filter(({ eventId }) => eventIds.includes(eventId)).map((row) => [row.eventId, row])),
      findRejected: async () => new Map(),
      prunings: async () => [],
      skips: async () => [],
      report: async (finding) => void findings.push(finding),
      onProgress: () => {},
      ...needs,
    },
    { ...PARTITION, ...partition },
    counts,
  )
  return { counts, findings, sound: isSound(counts) }
}

const ALL = [committed(messageOf(0), messageOf(1), messageOf(2))]

t.test('a message is compared by the envelope map that read it', async (t) => {
  const parse: AuditNeeds['parse'] = async (_, { value }, revision) =>
    revision === 'earlier'
      ? { kind: 'event', event: aParsedEvent(String(value)) }
      : { kind: 'rejection', rejection: { code: 'event-id', error: 'eventId is missing' } }
  const rows = [rowOf(0), rowOf(1), rowOf(2)]
  t.match(await audit(ALL, rows, {}, { parse }), { sound: false, counts: { missing: 3 } })
  t.match(await audit(ALL, rows, {}, { parse, earlierMaps: ['other', 'earlier'] }), {
    sound: true,
    counts: { rows: 3 },
  })
})

t.test('type and party are compared as read by the envelope map of the row', async (t) => {
  const parse: AuditNeeds['parse'] = async (_, { value }, revision) => {
    const event = aParsedEvent(String(value))
    const moved = { ...event, eventType: 'claim.moved', partyLocator: 'party-moved' }
    return { kind: 'event', event: revision === 'earlier' ? event : moved }
  }
  const rows = [0, 1, 2].map((offset) => ({ ...rowOf(offset), envelopeMapRevision: 'earlier' }))
  t.match(await audit(ALL, rows, {}, { parse }), { sound: true, counts: { rows: 3 } })
  const changed = rows.map((row) => ({ ...row, eventType: 'claim.moved' }))
  t.match(await audit(ALL, changed, {}, { parse }), {
    findings: [{ detail: /^NTF-0: event_type is "claim.moved", .* "claim.paid"$/ }, {}, {}],
  })
})

t.test('a message with the row of another one is sound once it is rejected', async (t) => {
  const twice = [committed(messageOf(0), messageOf(1, 'event-0'), messageOf(2))]
  const others = [
    { eventType: 'claim.moved' },
    { partyLocator: 'p' },
    { reference: 'CLM-2' },
    { reason: 'x' },
  ]
  for (const another of others) {
    const rows = [
      { ...rowOf(0), origin: { topic: 'claims', partition: 1, offset: 0n }, ...another },
      rowOf(2),
    ]
    t.match(await audit(twice, rows), { sound: false, counts: { differs: 2, duplicates: 0, conflicts: 0 } })
    const findRejected = async () => new Map([0n, 1n].map((offset) => [offset, { erased: offset === 1n }]))
    t.match(await audit(twice, rows, {}, { findRejected }), {
      sound: true,
      counts: { rows: 1, conflicts: 2, erased: 1 },
    })
  }
  const unknown = [{ ...rowOf(0), reference: null, reason: null }, rowOf(2)]
  t.match(await audit(twice, unknown), { sound: true, counts: { rows: 2, duplicates: 1 } })
})

t.test('a row of an aborted message is a fault, unless its event came again', async (t) => {
  const pieces: LogPiece[] = [{ kind: 'messages', fate: 'aborted', messages: [messageOf(0), messageOf(1)] }]
  const again = { ...rowOf(1), origin: { topic: 'claims', partition: 0, offset: 7n } }
  t.match(await audit(pieces, [rowOf(0), again]), {
    sound: false,
    counts: { aborted: 1, differs: 1 },
    findings: [{ kind: 'differs', offset: '0', locator: 'NTF-0', detail: /was aborted/ }],
  })
})

t.test('a checkpoint beyond the end hides nothing', async (t) => {
  t.match(await audit(ALL, [rowOf(0), rowOf(1), rowOf(2)]), { sound: true, findings: [] })
  t.match(await audit(ALL, [rowOf(0), rowOf(2)], { checkpoint: 50n }), {
    sound: false,
    counts: { rows: 2, missing: 1, waiting: 0 },
    findings: [{ kind: 'missing', offset: '1' }],
  })
})

t.test('messages removed unread by retention are a fault, even during the audit', async (t) => {
  const removed = { kind: 'removed', first: 0n, last: 1n } as const
  const meanwhile = (checkpoint: bigint | null) =>
    audit([removed, committed(messageOf(2))], [], { checkpoint })
  t.match(await meanwhile(1n), { sound: true, counts: { removed: 2, gone: 0, waiting: 1 } })
  t.match(await meanwhile(0n), { sound: false, counts: { removed: 1, gone: 1 } })
  t.match(await meanwhile(-1n), { sound: false, counts: { removed: 0, gone: 2 } })
  t.match(await meanwhile(null), { sound: true, counts: { removed: 2, gone: 0 } })
  const before = (checkpoint: bigint | null) => audit([], [], { earliest: 3n, checkpoint })
  t.match(await before(0n), { sound: false, counts: { removed: 1, gone: 2 } })
  t.match(await before(-1n), { sound: false, counts: { removed: 0, gone: 3 } })
  t.match(await before(null), { sound: true, counts: { removed: 3, gone: 0 } })
})

t.test('a message without a value needs no row', async (t) => {
  const tombstone = { ...messageOf(0), value: null }
  const { counts } = await audit(
    [committed(tombstone, messageOf(1))],
    [rowOf(1)],
    {},
    {
      parse: async (_, { value }) =>
        value === null
          ? { kind: 'tombstone' }
          : { kind: 'rejection', rejection: { code: 'empty', error: '' } },
      findRejected: async () => new Map([[1n, { erased: false }]]),
    },
  )
  t.match(counts, { tombstones: 1, rejected: 1, missing: 0 })
})

t.test('a row without a decision is a fault for each message of its event', async (t) => {
  const twice = [committed(messageOf(0), messageOf(1, 'event-0'), messageOf(2))]
  t.match(await audit(twice, [rowOf(0), rowOf(2)]), { sound: true, counts: { rows: 2, duplicates: 1 } })
  t.match(await audit(twice, [{ ...rowOf(0), origin: null }, rowOf(2)]), {
    sound: false,
    counts: { rows: 1, duplicates: 0, differs: 2 },
    findings: [
      {
        kind: 'differs',
        offset: '0',
        eventId: 'event-0',
        locator: 'NTF-0',
        detail: /no decision explains it/,
      },
      { kind: 'differs', offset: '1' },
    ],
  })
})

t.test('a message in the range is audited even behind a younger one', async (t) => {
  const [first, younger, third] = [messageOf(0), { ...messageOf(1), timestampMs: 9n }, messageOf(2)]
  const pieces = [committed(first, younger, third)]
  t.match(await audit(pieces, [rowOf(0)], { untilMs: 8 }), {
    sound: false,
    counts: { rows: 1, missing: 1, later: 1 },
    findings: [{ kind: 'missing', offset: '2' }],
  })
  t.match(await audit(pieces, [], { untilMs: 9 }), { counts: { missing: 3, later: 0 } })
  const { timestampMs: _, ...untimed } = messageOf(0)
  t.match(await audit([committed(untimed)], [], { untilMs: 8, end: 1n }), { counts: { missing: 1 } })
})

t.test('a page ends at 8 MB, whichever part of its messages is large', async (t) => {
  const large = Buffer.alloc(5 * 1024 * 1024)
  const pageCounts: number[] = []
  const findRows: AuditNeeds['findRows'] = async (eventIds) => {
    pageCounts.push(eventIds.length)
    return new Map()
  }
  const messages = [messageOf(0), messageOf(1), messageOf(2)]
  await audit(
    [committed(...messages.map((some) => ({ ...some, headers: { large: [large] } })))],
    [],
    {},
    { findRows },
  )
  await audit([committed(...messages.map((some) => ({ ...some, key: large })))], [], {}, { findRows })
  await audit([committed(...messages)], [], {}, { findRows })
  t.strictSame(pageCounts, [2, 1, 2, 1, 3])
})

t.test('unreadable offsets count as skipped, or as possibly pruned', async (t) => {
  const OLD_MS = 1_500_000_000_000n
  const unreadable = { kind: 'unreadable', first: 1n, last: 2n, detail: 'its checksum is wrong' } as const
  const pieces = [committed({ ...messageOf(0), timestampMs: OLD_MS }), unreadable]
  const auditWith = (needs: Partial<AuditNeeds>) => audit(pieces, [rowOf(0)], {}, needs)
  t.match(await auditWith({}), { sound: false, counts: { unreadable: 2 } })
  t.match(await auditWith({ skips: async () => [{ from: 1n, to: 2n }] }), {
    sound: true,
    counts: { skipped: 2 },
  })
  t.match(await auditWith({ skips: async () => [{ from: 0n, to: 1n }] }), {
    sound: false,
    counts: { skipped: 1, unreadable: 1 },
  })
  const prunedAt = (through: bigint, beforeMs: bigint) =>
    auditWith({ prunings: async () => [{ through, beforeMs: Number(beforeMs) }] })
  t.match(await prunedAt(2n, OLD_MS + 1n), { sound: true, counts: { pruned: 2 } })
  t.match(await prunedAt(1n, OLD_MS + 1n), { sound: false, counts: { unreadable: 2 } })
  t.match(await prunedAt(2n, OLD_MS), { sound: false, counts: { unreadable: 2 } })
})
