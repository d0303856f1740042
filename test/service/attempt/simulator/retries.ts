import { createRetry } from '../../../../src/service/attempt/retry.ts'
import { unobserved } from '../../../../src/service/decide/attempt/stage.ts'
import type { Actor } from './actor.ts'
import { lookUpContacts } from './contacts.ts'
import { SILENT, type World } from './world.ts'

const ATTEMPT_COUNT_MAX = 5

/** A few passes of the background retry. */
export async function retryInBackground(world: World, actor: Actor): Promise<void> {
  const { memory, scheduler, random } = world
  const { pass } = createRetry<number>({
    listDueEntries: async () => {
      await actor.step()
      const due = memory.entries('FAILED').filter(({ attemptCount }) => attemptCount < ATTEMPT_COUNT_MAX)
      return { due, next: null }
    },
    lookUpContactsAgain: (parties) => lookUpContacts(world, actor, parties),
    isDown: () => false,
    maker: actor.maker,
    stage: unobserved,
    clock: { nowMs: () => scheduler.now, sleep: async () => {} },
    log: SILENT,
  })
  for (let i = 0; i < 3; i++) {
    await scheduler.step(random.below(60))
    await pass()
  }
}
