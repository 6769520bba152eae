export {
  isNodeResponse,
  type NodeExchange,
  nodeExchange,
  type PreparedResponse,
  parsedUrl,
  preparedByNode,
  takenBytes,
  unblockStandardStream,
  unfinishedResponse,
} from "./private-members.ts";
