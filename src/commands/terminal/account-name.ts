import { userInfo } from 'node:os'

/** Who is recorded to have run a command, unless told otherwise: in a container the account often has no name. */
export function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
