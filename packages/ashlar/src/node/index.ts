export {
  isNodeResponse,
  type NodeExchange,
  nodeExchange,
  type PreparedResponse,
  parsedUrl,
  preparedByNode,
  requestForFile,
  takenBytes,
  unblockStandardStream,
  unfinishedResponse,
} from "./private-members.ts";
