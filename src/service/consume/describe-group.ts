import kafkajs, { type GroupDescriptions } from 'kafkajs'
import type Broker from 'kafkajs/src/broker/index.js'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import Encoder from 'kafkajs/src/protocol/encoder.js'
import errors from 'kafkajs/src/protocol/error.js'
import { partitionKey } from '../decide/event/position.ts'
import { PROTOCOL } from './assigner.ts'
import { type Build, decodeBuild } from './builds.ts'

/** A member of a consumer group. */
export interface GroupMember {
  readonly host: string
  /** The name that it gives itself. */
  readonly client: string
  /** The topics to which it subscribed. */
  readonly topics: readonly string[]
  /** The partitions that it reads, by `topic/partition`: it ignores those of other topics. */
  readonly owned: readonly string[]
  /** True for another program: it joined by the protocol of KIP-848, or does not tell its build. */
  readonly isStranger: boolean
  /** The kind of protocol and the assigner, as in `consumer/range`, if the service speaks another; else null. */
  readonly otherProtocol: string | null
  /** Null for other programs, and for all members beside one of KIP-848. */
  readonly build: Build | null
}

/** KIP-848. Version 1 says which protocol a member speaks. */
const CONSUMER_GROUP_DESCRIBE = { apiKey: 69, apiVersion: 1, apiName: 'ConsumerGroupDescribe' }
const OF_NEW_PROTOCOL = 1
/** Nobody is in it, or it is a group of the classic protocol. */
const NO_SUCH_GROUP = 'GROUP_ID_NOT_FOUND'

/**
 * The members of a group; during a rebalance they have no topics. As soon as a member speaks the protocol of KIP-848, the group
 * looks empty to the classic request, and only the newer one lists its members, of both protocols.
 */
export async function describeGroup(broker: Broker, groupId: string): Promise<readonly GroupMember[]> {
  const { groups }: GroupDescriptions = await broker.describeGroups({ groupIds: [groupId] })
  const classic = groups.flatMap((group) => group.members.map((member) => readClassicMember(group, member)))
  const { apiKey, apiVersion } = CONSUMER_GROUP_DESCRIBE
  const maxVersion = broker.versions?.[apiKey]?.maxVersion ?? 0
  return classic.length > 0 || maxVersion < apiVersion ? classic : describeNewGroup(broker, groupId)
}

type Group = GroupDescriptions['groups'][number]

function readClassicMember(
  { protocolType, protocol }: Group,
  { clientId: client, clientHost, memberMetadata, memberAssignment }: Group['members'][number],
): GroupMember {
  const host = withoutSlash(clientHost)
  if (isOther(protocolType, protocol)) {
    const otherProtocol = `${protocolType}/${protocol}`
    return { host, client, topics: [], owned: [], isStranger: false, otherProtocol, build: null }
  }
  const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol
  const subscription = memberMetadata.length === 0 ? null : MemberMetadata.decode(memberMetadata)
  const topics = subscription?.topics ?? []
  const assignment = MemberAssignment.decode(memberAssignment)?.assignment ?? {}
  const owned = topics.flatMap((topic) =>
    (assignment[topic] ?? []).map((partition) => partitionKey({ topic, partition })),
  )
  const build = decodeBuild(subscription?.userData)
  // During a rebalance members have no topics, and say nothing.
  const isStranger = topics.length > 0 && build === null
  return { host, client, topics, owned, isStranger, otherProtocol: null, build }
}

/** During a rebalance a group has no assigner. */
function isOther(protocolType: string, protocol: string): boolean {
  return protocolType !== 'consumer' || (protocol !== '' && protocol !== PROTOCOL.name)
}

function describeNewGroup({ connectionPool }: Broker, groupId: string): Promise<readonly GroupMember[]> {
  return connectionPool.send<readonly GroupMember[]>({
    request: { ...CONSUMER_GROUP_DESCRIBE, encode: async () => encodeRequest(groupId) },
    response: { decode: async (bytes) => decodeResponse(bytes), parse: async (members) => members },
  })
}

/** The tagged fields of the header, the list of groups, no list of rights, and the tagged fields of the body. */
function encodeRequest(groupId: string): Encoder {
  return new Encoder()
    .writeUVarInt(0)
    .writeUVarInt(2)
    .writeUVarIntString(groupId)
    .writeBoolean(false)
    .writeUVarInt(0)
}

function decodeResponse(bytes: Buffer): readonly GroupMember[] {
  const decoder = new Decoder(bytes)
  decoder.readTaggedFields()
  const _throttleMs = decoder.readInt32()
  return readList(decoder, readGroup).flat()
}

function readGroup(decoder: Decoder): readonly GroupMember[] {
  const errorCode = decoder.readInt16()
  for (const _field of ['message', 'group', 'state']) decoder.readUVarIntString()
  for (const _epoch of ['group', 'assignment']) decoder.readInt32()
  const _assignor = decoder.readUVarIntString()
  const members = readList(decoder, readMember)
  const _rights = decoder.readInt32()
  decoder.readTaggedFields()
  if (errorCode === 0) return members
  const error = errors.createErrorFromCode(errorCode)
  if (error.type === NO_SUCH_GROUP) return []
  throw error
}

function readMember(decoder: Decoder): GroupMember {
  for (const _id of ['member', 'instance', 'rack']) decoder.readUVarIntString()
  const _epoch = decoder.readInt32()
  const client = decoder.readUVarIntString() ?? ''
  const host = withoutSlash(decoder.readUVarIntString() ?? '')
  const topics = readList(decoder, (inner) => inner.readUVarIntString() ?? '')
  const _pattern = decoder.readUVarIntString()
  const owned = readAssignment(decoder)
  const wanted = readAssignment(decoder)
  const isStranger = decoder.readInt8() === OF_NEW_PROTOCOL
  decoder.readTaggedFields()
  // Until the member acknowledges its partitions they are nobody's.
  return {
    host,
    client,
    topics,
    owned: [...new Set([...owned, ...wanted])],
    isStranger,
    otherProtocol: null,
    build: null,
  }
}

function readAssignment(decoder: Decoder): readonly string[] {
  const owned = readList(decoder, (inner) => {
    inner.readBytes(UUID_BYTES)
    const topic = inner.readUVarIntString() ?? ''
    const partitions = readList(inner, (item) => item.readInt32())
    inner.readTaggedFields()
    return partitions.map((partition) => partitionKey({ topic, partition }))
  })
  decoder.readTaggedFields()
  return owned.flat()
}

const UUID_BYTES = 16

function readList<T>(decoder: Decoder, read: (decoder: Decoder) => T): readonly T[] {
  return decoder.readUVarIntArray(read) ?? []
}

function withoutSlash(host: string): string {
  return host.replace(/^\//, '')
}
