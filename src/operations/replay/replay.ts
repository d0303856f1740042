import type { Command } from 'commander'
import { newCommand } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { replay } from './compare-log.ts'
import { describeReplayFinding } from './replay-finding.ts'

interface Options {
  readonly verify?: true
  readonly rebuild?: true
  readonly json?: true
}

export const replayCommand = (world: World) =>
  newCommand('replay', {
    notes: `Each row is rebuilt from its decisions and the templates of their time, and each decision is made again by the rule table
of its time. No stored row or decision is changed: --rebuild only inserts rows that are missing.`,
    exitCodes: '0 no differences are left, 1 differences or failed',
    example: 'replay --verify',
  })
    .description('rebuild the log from its decisions, and compare it with the stored one')
    .option('--verify', 'report what differs; write nothing')
    .option('--rebuild', 'report what differs, and insert every missing row that its decisions explain')
    .option('--json', 'one JSON object per line: each finding, then the summary')
    .action((options: Options, command: Command) => runReplay(world, options, command))

async function runReplay(world: World, options: Options, command: Command): Promise<void> {
  if (options.verify === options.rebuild) {
    command.error('error: give either --verify or --rebuild', { exitCode: 2 })
  }
  await withDatabase(world, async (pool) => {
    const isSound = await replay(pool, {
      isRebuild: options.rebuild === true,
      report: (finding) =>
        print(world, options.json ? JSON.stringify(finding) : describeReplayFinding(finding)),
      onProgress: ({ entries, differences }) =>
        showProgress(world, `${entries} entries compared, ${differences} differences`),
    })
    world.exitCode = isSound ? 0 : 1
  })
}
