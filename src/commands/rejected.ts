import { Command } from 'commander'
import { dismissCommand } from './rejected/dismiss.ts'
import { listCommand } from './rejected/list.ts'
import { redriveCommand } from './rejected/redrive.ts'
import { showCommand } from './rejected/show.ts'
import { skipCommand } from './rejected/skip.ts'

export const rejectedCommand = new Command('rejected')
  .description(
    'list, show, redrive and dismiss rejected messages: those that are not valid events, or whose row the database refused',
  )
  .addCommand(listCommand)
  .addCommand(showCommand)
  .addCommand(redriveCommand)
  .addCommand(dismissCommand)
  .addCommand(skipCommand)
  .addHelpText('after', '\nExample:\n  $ notifications-service rejected list')
