import t from 'tap'
import { compareLast, judgeOutOfRange, judgeRecreated } from '../../../src/service/consume/recreated-topic.ts'

const PROCESSED = { offset: 7n, sha256: 'a' }

for (const [name, found, verdict] of [
  ['the same message', PROCESSED, 'same'],
  ['another message at its offset', { offset: 7n, sha256: 'b' }, 'another'],
  ['a later message, as after compaction', { offset: 8n, sha256: 'a' }, 'gone'],
  ['nothing, as after retention', null, 'gone'],
  ['the end of a transaction in its place', 'no message', 'another'],
] as const) {
  t.test(`the last message, compared with ${name}: ${verdict}`, async (t) => {
    t.equal(compareLast(PROCESSED, found), verdict)
  })
}

const AT = { kind: 'deleted', earliest: 20n } as const

for (const [name, checkpoint, fetchFrom, knownEarliest, ends, verdict] of [
  ['the partition ends at the checkpoint', 9n, 10n, 0n, { earliest: 0n, end: 9n }, { kind: 'recreated' }],
  ['the partition ends before the checkpoint', 9n, 10n, 0n, { earliest: 0n, end: 3n }, { kind: 'recreated' }],
  ['the last processed message is there', 9n, 10n, 0n, { earliest: 0n, end: 10n }, { kind: 'passed' }],
  ['the offset is the earliest', 9n, 10n, 0n, { earliest: 10n, end: 12n }, { kind: 'passed' }],
  ['unprocessed messages are deleted', 9n, 10n, 0n, { earliest: 20n, end: 30n }, { ...AT, count: 10n }],
  ['only the last processed one is deleted', 19n, 19n, 0n, { earliest: 20n, end: 30n }, { ...AT, count: 0n }],
  ['processed ones alone are deleted', 25n, 12n, 0n, { earliest: 20n, end: 30n }, { ...AT, count: 0n }],
  ['it ends before what was its beginning', 3n, 20n, 20n, { earliest: 0n, end: 9n }, { kind: 'recreated' }],
] as const) {
  t.test(`an offset out of range: ${name}`, async (t) => {
    t.match(judgeOutOfRange(checkpoint, fetchFrom, knownEarliest, ends), verdict)
  })
}

t.test('a topic was recreated if it ends before the checkpoint, or has another message there', async (t) => {
  const checkpoint = { offset: 9n, lastMessage: PROCESSED }
  for (const [end, found, fault] of [
    [9n, null, /beyond the end/],
    [10n, null, null],
    [10n, PROCESSED, null],
    [10n, { ...PROCESSED, sha256: 'b' }, /at offset 7 is not the one/],
  ] as const)
    t.match(judgeRecreated(checkpoint, { end }, found), fault)
  t.equal(judgeRecreated({ offset: 9n, lastMessage: null }, { end: 10n }, PROCESSED), null)
})
