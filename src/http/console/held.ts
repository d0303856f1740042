import { z } from 'zod'
import { type HeldPartitions, heldPartitions } from '../../core/batch/held-partitions.ts'
import type { App } from '../server/base.ts'

/** The partitions of this process that do not go on. No personal data. */
export function heldRoute(app: App, held: () => HeldPartitions): void {
  const schema = { querystring: z.strictObject({}), response: { 200: heldPartitions } }
  app.get('/held', { config: { access: 'admin' }, schema }, async () => held())
}
