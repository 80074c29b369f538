<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:template match="/"><ul><xsl:for-each select="//*[local-name() = 'title']"><li><xsl:value-of select="."/></li></xsl:for-each></ul></xsl:template>
</xsl:stylesheet>
