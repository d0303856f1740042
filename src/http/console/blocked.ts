import { z } from 'zod'
import { type BlockedPartitions, blockedPartitions } from '../../core/batch/blocked-partitions.ts'
import type { App } from '../server/base.ts'

/** The partitions of this process that do not go on. No personal data. */
export function blockedRoute(app: App, blocked: () => BlockedPartitions): void {
  const schema = { querystring: z.strictObject({}), response: { 200: blockedPartitions } }
  app.get('/blocked', { config: { access: 'admin' }, schema }, async () => blocked())
}
