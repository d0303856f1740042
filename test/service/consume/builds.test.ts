import t from 'tap'
import { type Build, decodeBuild, encodeBuild } from '../../../src/service/consume/builds.ts'
import { findMixedBuilds, judgeBuilds } from '../../../src/service/consume/member-notices.ts'

const NOON_MS = Date.parse('2026-01-31T12:00:00Z')
const MINUTE_MS = 60_000
const OLD: Build = {
  version: '1.0.0',
  ruleTableRevision: 'a'.repeat(64),
  envelopeMapRevision: null,
  startedMs: NOON_MS - 60 * MINUTE_MS,
  replica: null,
}
const NEW: Build = {
  ...OLD,
  ruleTableRevision: 'b'.repeat(64),
  envelopeMapRevision: null,
  startedMs: NOON_MS,
}

const member = (host: string, build: Build | null, topics = ['claims']) => ({ host, build, topics })

t.test(
  'what a member says of its build is read, also that of a later version; others say nothing',
  async (t) => {
    const map = { envelopeMapRevision: 'd'.repeat(64) }
    for (const build of [
      OLD,
      { ...OLD, replica: 'c0ffee' },
      { ...OLD, ...map },
      { ...OLD, ...map, replica: 'c0ffee' },
    ])
      t.strictSame(decodeBuild(encodeBuild(build)), build)
    t.strictSame(decodeBuild(Buffer.from(`${encodeBuild(NEW)} more=1`)), NEW)
    for (const other of [undefined, Buffer.alloc(0), Buffer.from('version=1')])
      t.equal(decodeBuild(other), null)
  },
)

t.test('two builds are named once a rollout would be over, with hosts and time', async (t) => {
  const members = [member('h1', OLD), member('h2', OLD), member('h3', NEW)]
  t.equal(judgeBuilds(members, NOON_MS + 14 * MINUTE_MS), null)
  const notice = judgeBuilds(members, NOON_MS + 15 * MINUTE_MS)
  t.equal(
    notice?.text,
    'replicas have different versions, rule tables, envelope maps or topics since 2026-01-31T12:00:00.000Z: version 1.0.0 with rule table aaaaaaaaaaaa on 2 replicas (h1, h2); version 1.0.0 with rule table bbbbbbbbbbbb on 1 replica (h3)',
  )
  t.strictSame(findMixedBuilds(members), { notice, sinceMs: NOON_MS }, 'at once for doctor')
  t.match(notice?.remedy, /roll it back.*its own MQ_GROUP_ID/)
})

t.test('two envelope maps are two builds', async (t) => {
  const [one, other] = ['d', 'e'].map((digit) => ({ ...OLD, envelopeMapRevision: digit.repeat(64) }))
  t.match(
    findMixedBuilds([member('h1', one ?? null), member('h2', other ?? null)])?.notice.text,
    /aaaaaaaaaaaa and envelope map dddddddddddd on 1 replica .*aaaaaaaaaaaa and envelope map eeeeeeeeeeee on 1/,
  )
})

t.test('two lists of topics are named, each with its hosts', async (t) => {
  const members = [
    member('h1', OLD, ['claims', 'billing']),
    member('h2', OLD, ['billing', 'claims']),
    member('h3', { ...OLD, startedMs: NOON_MS }, ['claims']),
  ]
  t.match(findMixedBuilds(members), {
    sinceMs: NOON_MS,
    notice: {
      text: /aaaaaaaaaaaa and topics billing, claims on 2 replicas \(h1, h2\); .* and topics claims on 1 replica \(h3\)$/,
      remedy: /MQ_TOPICS/,
    },
  })
})

t.test('members that tell no build, or the same one, are not compared', async (t) => {
  const later = NOON_MS + 60 * MINUTE_MS
  t.equal(judgeBuilds([member('h1', null), member('h3', NEW)], later), null)
  t.equal(
    judgeBuilds([member('h1', OLD), member('h2', { ...OLD, startedMs: NOON_MS })], later),
    null,
    'one build',
  )
  t.equal(judgeBuilds([member('h1', NEW), member('h2', OLD, [])], later), null, 'a rebalance')
})
