import t from 'tap'
import { aWorld } from '../stack/world.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker does not rebalance like a real one'

t.test(
  'a member waits once for one that was killed, whatever else it asks of the same broker',
  { skip: SKIP_MOCK },
  async (t) => {
    const world = await aWorld(t)
    // Longer than any other request is waited for.
    const env = { MQ_SESSION_TIMEOUT: '16s' }
    const killed = await world.spawn(env)
    await killed.logged(/^joined the consumer group/)
    killed.kill('SIGKILL')
    await killed.exited
    const { lines, logged, stop } = await world.spawn(env)
    await logged(/^joined the consumer group/)
    await stop()
    t.equal(lines.filter(({ msg }) => msg === 'joining the consumer group').length, 1)
    t.strictSame(
      lines.filter(({ groupId, level }) => groupId !== undefined && level === 'warn'),
      [],
    )
  },
)
