import { createRetry } from '../../../../src/service/attempt/retry.ts'
import type { Actor } from './actor.ts'
import { parties } from './contacts.ts'
import { SILENT, type World } from './world.ts'

const ATTEMPT_COUNT_MAX = 5

/** A few passes of the background retry. */
export async function retryInBackground(world: World, actor: Actor): Promise<void> {
  const { memory, scheduler, random } = world
  const listDueEntries = async () => {
    await actor.step()
    const due = memory.entries('FAILED').filter(({ attemptCount }) => attemptCount < ATTEMPT_COUNT_MAX)
    return { due, next: null }
  }
  const { pass } = createRetry<number>(actor.maker, parties(world, actor), listDueEntries, SILENT)
  for (let i = 0; i < 3; i++) {
    await scheduler.step(random.below(60))
    await pass()
  }
}
