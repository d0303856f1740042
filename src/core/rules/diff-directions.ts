import type { Change } from './diff.ts'

/** Changes that `rules diff --fail-on` can forbid. */
export const DIRECTIONS = {
  'new-send': ({ before, after }: Change) => before.outcome !== 'SEND' && after.outcome === 'SEND',
  'lost-send': ({ before, after }: Change) => before.outcome === 'SEND' && after.outcome !== 'SEND',
} as const
