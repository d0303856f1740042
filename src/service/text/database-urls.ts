/**
 * One database URL for each host, in order: `postgres://u@a:1,b:2/db` names two, as in libpq. A missing port is the default one.
 */
export function databaseUrls(url: string): string[] {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/is.exec(url) ?? []
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',')
  if (hosts.length === 1) return [url]
  const user = authority.slice(0, authority.lastIndexOf('@') + 1)
  return hosts.map((host) => `${scheme}${user}${host}${rest}`)
}

/** Hosts, ports and name of a database, as in `a:1,b:2/db`, without user, password and parameters. */
export function databasePlace(url: string): string {
  const [, authority = '', path = ''] = /^[a-z]+:\/\/([^/?#]*)([^?#]*)/i.exec(url) ?? []
  return `${authority.slice(authority.lastIndexOf('@') + 1)}${path}`
}
