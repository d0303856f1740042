import { newCommand } from '../../terminal/options.ts'
import { note, print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { countEvents } from './count-events.ts'
import { formatTraffic } from './traffic-sheet.ts'

export const trafficCommand = (world: World) =>
  newCommand('traffic', {
    notes: `Prints rules/traffic.csv, from which summaries count the events that a change concerns. It names no member: groups of
fewer than ten events are summed up. DATABASE_URL names the database.`,
    exitCodes: '0 counted, 1 failed',
    example: 'rules traffic > traffic.csv && mv traffic.csv rules/',
  })
    .description('count the events of the last 30 days by their facts')
    .option('--json', 'as one JSON value')
    .action(({ json }: { readonly json?: true }) =>
      withDatabase(world, async (pool) => {
        const traffic = await countEvents(pool, Date.now(), (count) =>
          showProgress(world, `${count} events counted`),
        )
        const { firstDay, lastDay, groups, restCount } = traffic
        if (groups.length === 0 && restCount === 0)
          note(
            world,
            `warning: no event was decided from ${firstDay} to ${lastDay}, and later ones are not counted: by the summaries, no change would concern an event`,
          )
        await print(world, json ? JSON.stringify(traffic) : formatTraffic(traffic).trimEnd())
      }),
    )
