import t from 'tap'
import { scrape } from '../stack/ask.ts'
import { preloading } from '../stack/executable.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

t.test('serve and doctor warn of a superuser, serve of too little memory', async (t) => {
  const world = await aWorld(t)
  const limited = 'process.constrainedMemory = () => 256 * 1024 * 1024'
  const service = await world.spawn(preloading(`data:text/javascript,${encodeURIComponent(limited)}`))
  const superuser = /^the database role \S+ is a superuser/
  t.match(await service.logged(superuser), { level: 'warn', remedy: /db\/grants.sql/ })
  t.match(await service.logged(/^memory is limited to 256 MiB/), { level: 'warn' })
  const { stdout } = await command(['doctor', '--json'], world.env)
  const role = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'role')
  t.match(role, { status: 'warning', detail: superuser, remedy: /notifications_service/ })
})

t.test('serve notices at once that its clock is off', async (t) => {
  const world = await aWorld(t)
  const late = 'const now = Date.now; Date.now = () => now() - 1_200_000'
  const service = await world.spawn({
    MANAGEMENT_PORT: '0',
    ...preloading(`data:text/javascript,${encodeURIComponent(late)}`),
  })
  t.match(await service.logged(/^the clocks differ: database: 1[12]\d\d s ahead of this machine$/), {
    level: 'warn',
    remedy: /time service/,
  })
  const url = await service.managementUrl()
  t.match(await (await fetch(`${url}/console/data/status`)).json(), {
    notices: [{ subject: /clocks/, text: /^the clocks differ/ }],
  })
  const { value } = await scrape(url)
  t.ok((value('notifications_database_clock_ahead_seconds') ?? 0) > 1_000)
})

/** The environment of a process whose minutes are short. */
const OFTEN = preloading(
  `data:text/javascript,${encodeURIComponent(
    'const every = setInterval; globalThis.setInterval = (run, ms) => every(run, ms === 60_000 ? 500 : ms)',
  )}`,
)

t.test('the console says what looks wrong about the data', async (t) => {
  const world = await aWorld(t)
  const service = await world.spawn({ MANAGEMENT_PORT: '0', ...OFTEN })
  await world.publish(Array.from({ length: 10 }, () => anEvent({ partyLocator: undefined })))
  await service.logged(/^the data looks wrong/)
  const url = await service.managementUrl()
  t.match(await (await fetch(`${url}/console/data/status`)).json(), {
    notices: [{ subject: `no-party of ${world.topics.claims}`, remedy: /"partyLocator"/ }],
  })
})
