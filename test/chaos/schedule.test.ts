import t from 'tap'
import { createLoad } from './load.ts'
import { createSchedule, FAULT_KINDS } from './schedule.ts'
import { truthOf } from './truth.ts'

const plansOf = (seed: number, cycleCount: number, replicaCount = 3) => {
  const next = createSchedule(seed, replicaCount)
  return Array.from({ length: cycleCount }, () => next())
}
const loadOf = (seed: number, cycleCount: number) => {
  const next = createLoad(seed, 4)
  return Array.from({ length: cycleCount }, () => next())
}

t.test('the seed alone decides on faults and load, however many cycles there are', async (t) => {
  t.same(plansOf(7, 50).slice(0, 20), plansOf(7, 20))
  t.same(loadOf(7, 3).slice(0, 2), loadOf(7, 2))
  t.notSame(plansOf(7, 20), plansOf(8, 20))
  t.notSame(loadOf(7, 1), loadOf(8, 1))
})

t.test('every kind of fault comes about as often as any other, for any number of replicas', async (t) => {
  for (const replicaCount of [1, 2, 3]) {
    const faults = plansOf(1, 300, replicaCount).flatMap((plan) => plan.faults)
    for (const kind of FAULT_KINDS) {
      const share = faults.filter((fault) => fault.kind === kind).length / faults.length
      t.ok(share > 0.5 / FAULT_KINDS.length, `${kind}: ${share}`)
    }
  }
})

t.test('no replica is struck twice in a cycle, and some cycles are calm', async (t) => {
  const plans = plansOf(2, 300)
  for (const { faults } of plans) {
    const struck = faults.flatMap(({ replica }) => replica ?? [])
    t.equal(new Set(struck).size, struck.length)
    t.ok(struck.every((replica) => replica < 3))
  }
  t.ok(plans.some(({ faults, settles }) => faults.length === 0 && settles))
})

t.test(
  'the load holds events, duplicates in the same place and elsewhere, and all kinds of rejections',
  async (t) => {
    const messages = loadOf(3, 5).flatMap((bursts) => bursts.flatMap((burst) => burst.messages))
    const codes = new Set<string>()
    const placesById = new Map<string, string[]>()
    for (const { topic, partition, value } of messages) {
      const truth = truthOf(typeof value === 'string' ? Buffer.from(value) : value)
      if (truth.kind === 'rejected') codes.add(truth.code)
      else if (truth.kind === 'refused') codes.add('refused-by-database')
      else {
        const { eventId } = truth.event
        placesById.set(eventId, [...(placesById.get(eventId) ?? []), `${topic}/${partition}`])
      }
    }
    t.same([...codes].sort(), [
      'empty',
      'event-id',
      'event-type',
      'not-json',
      'not-object',
      'not-utf8',
      'refused-by-database',
    ])
    const repeated = [...placesById.values()].filter((places) => places.length > 1)
    t.ok(repeated.some((places) => new Set(places).size === 1))
    t.ok(repeated.some((places) => new Set(places).size > 1))
  },
)
