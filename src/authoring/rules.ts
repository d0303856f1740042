import { newCommand } from '../terminal/options.ts'
import type { World } from '../terminal/world.ts'
import { checkCommand } from './check/check.ts'
import { diffCommand } from './diff/diff.ts'
import { summaryCommand } from './diff/summary.ts'
import { outcomesCommand } from './outcomes/outcomes.ts'
import { trafficCommand } from './traffic/traffic.ts'
import { tryCommand } from './try/try.ts'

export const rulesCommand = (world: World) =>
  newCommand('rules', { example: 'rules check' })
    .description('check, try and compare rule tables')
    .addCommand(checkCommand(world))
    .addCommand(diffCommand(world))
    .addCommand(outcomesCommand(world))
    .addCommand(summaryCommand(world))
    .addCommand(trafficCommand(world))
    .addCommand(tryCommand(world))
