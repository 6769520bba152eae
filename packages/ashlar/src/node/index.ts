export {
  isNodeResponse,
  type NodeExchange,
  nodeExchange,
  type PreparedResponse,
  parsedUrl,
  preparedByNode,
  requestForFile,
  stopReading,
  takenBytes,
  unblockStandardStream,
  unfinishedResponse,
} from "./private-members.ts";
